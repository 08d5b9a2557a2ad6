"""Command-line flags for every field of inspect's GenerateConfig, derived from the class of the installed version.

A value given as 0 or 0.0 is a value; an absent flag sets nothing. Never names a field by hand.
"""

import argparse
import json
import types
import typing
from typing import Any, Literal

import yaml
from inspect_ai.model import GenerateConfig

from pipeline.core.json_in import FROM_FILE, read_json
from pipeline.settings import SETTINGS

TRANSPORT = {"max_retries": "api_retries", "timeout": "call_timeout", "attempt_timeout": "call_timeout",
             "max_connections": "max_connections"}
"""Fields that the one door takes over: the field's flag sets this RunSpec field, for both roles together."""

PREFIX = {"solver": "solver", "judge": "scorer"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add `--solver-X` and `--scorer-X` for every field X that the settings table has not added by name."""
    taken = {row.flag for row in SETTINGS}
    for role, prefix in PREFIX.items():
        group = parser.add_argument_group(f"{role} generation settings (inspect's GenerateConfig)")
        for name, field in GenerateConfig.model_fields.items():
            flag = f"--{prefix}-{name.replace('_', '-')}"
            if flag not in taken:
                group.add_argument(flag, dest=f"{role}.{name}", default=None, **_argument(field.annotation))


def _argument(annotation: Any) -> dict[str, Any]:
    """argparse arguments for the type of one field."""
    options = [a for a in _members(annotation) if a is not type(None)]
    if options == [bool]:
        return {"action": argparse.BooleanOptionalAction}
    if len(options) == 1:
        only = options[0]
        if only in (int, float, str):
            return {"type": only}
        if typing.get_origin(only) is Literal:
            return {"choices": list(typing.get_args(only))}
        if typing.get_origin(only) is list and typing.get_args(only) == (str,):
            return {"nargs": "*", "metavar": "TEXT"}
    return {"type": _yaml, "metavar": "YAML"}


def _members(annotation: Any) -> tuple[Any, ...]:
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)
    return (annotation,)


def _yaml(text: str) -> Any:
    """A value that JSON knows too: it goes into the run's record, and into a request."""
    try:
        return read_json(json.dumps(yaml.safe_load(text)), FROM_FILE)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise argparse.ArgumentTypeError("not a YAML value") from error


def config_of(values: dict[str, Any], role: str, defaults: dict[str, Any]) -> dict[str, Any]:
    """The role's generation settings: the defaults, replaced by what was given. Transport fields are left out."""
    given = {k.split(".", 1)[1]: v for k, v in values.items() if k.startswith(f"{role}.") and v is not None}
    given.pop("model", None)
    return {**defaults, **{k: v for k, v in given.items() if k not in TRANSPORT}}


def transport_of(values: dict[str, Any]) -> dict[str, int]:
    """RunSpec fields set through `--solver-max-retries` and the like; the larger where both roles name one."""
    found: dict[str, int] = {}
    for role in PREFIX:
        for name, field in TRANSPORT.items():
            value = values.get(f"{role}.{name}")
            if value is not None:
                found[field] = max(int(value), found.get(field, int(value)))
    return found
