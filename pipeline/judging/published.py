"""Finds judge prompts in the published pipeline's source files, as data. Never imports or executes a file.

A prompt is a module-level string constant; which one is told by its placeholders and by the version in its name or path.
"""

import ast
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from string import Formatter

from pipeline.core.text import safe_text

PLACEHOLDERS = frozenset({"task_text", "reference_answer", "ai_response", "criterion_description"})
WITH_REFERENCE = frozenset({"v1", "v2"})

_VERSION = re.compile(r"(?:(?<![A-Za-z0-9])[vV]|(?<=[a-z])V|[vV]ersion[_-]?|VERSION[_-]?)([1-9])(?![0-9]|\.[0-9])")
_UNLIKELY = re.compile(r"(^|[/_.])(tests?|old|legacy|deprecated|archive|build|examples?)($|[/_.])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Constant:
    """A module-level string: the file's path in the repository, the constant's name, its text."""

    path: str
    name: str
    text: str


def constants(path: str, source: str) -> list[Constant]:
    """Every module-level string constant of a Python file; plain constants only, also as values of a plain dict.

    A file that does not parse has none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in somebody else's file are no news for this run
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: list[Constant] = []
    for node in body:
        if isinstance(node, ast.Assign):
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names = [node.target.id]
        else:
            continue
        for name in names:
            found += [Constant(path, label, text) for label, text in _strings(name, node.value)]
    return found


def _strings(name: str, value: ast.expr | None) -> list[tuple[str, str]]:
    if isinstance(value, ast.Dict):
        items = zip(value.keys, value.values, strict=True)
        keyed = [(k.value, _string(v)) for k, v in items if isinstance(k, ast.Constant) and isinstance(k.value, str)]
        return [(f"{name}_{key}", text) for key, text in keyed if text is not None]
    text = _string(value)
    return [] if text is None else [(name, text)]


def _string(value: ast.expr | None) -> str | None:
    """The text of a constant, or of constants joined by +; None for anything that would have to be run."""
    if isinstance(value, ast.Constant):
        return safe_text(value.value) if isinstance(value.value, str) else None
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        left, right = _string(value.left), _string(value.right)
        return None if left is None or right is None else left + right
    return None


def fields(template: str) -> frozenset[str] | None:
    """Names of the str.format placeholders; None where the text is no plain template."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError:
        return None
    if any(name is not None and (spec or conversion) for _, name, spec, conversion in parts):
        return None
    return frozenset(name for _, name, _, _ in parts if name is not None)


def find_template(found: Iterable[Constant], version: str) -> Constant | None:
    """The judge template of `version` ("v1" to "v4").

    Where nothing carries a version number, the structure tells: with or without the reference answer, and, of two,
    the longer one is the one with definitions and examples.
    """
    wanted = PLACEHOLDERS if version in WITH_REFERENCE else PLACEHOLDERS - {"reference_answer"}
    fitting = [c for c in found if fields(c.text) == wanted]
    labelled = [c for c in fitting if version_of(c) == version]
    if labelled:
        return min(labelled, key=_preference)
    bare = sorted((c for c in fitting if version_of(c) is None), key=lambda c: len(c.text))
    texts = list(dict.fromkeys(c.text for c in bare))
    if len(texts) != 2:
        return bare[0] if len(texts) == 1 and _has_examples(texts[0]) == (version in ("v2", "v4")) else None
    chosen = texts[1] if version in ("v2", "v4") else texts[0]
    return next(c for c in bare if c.text == chosen)


def find_retry_suffix(found: Iterable[Constant]) -> Constant | None:
    """The text put after a prompt when its verdict could not be read: told by RETRY in its name or its file's."""
    texts = [c for c in found if c.text.strip() and not fields(c.text)]
    named = [c for c in texts if "retry" in c.name.lower()]
    return min(named or [c for c in texts if "retry" in c.path.lower()], key=_retry_preference, default=None)


def version_of(constant: Constant) -> str | None:
    """The version in the constant's name, else the last one in its path, else None."""
    for text in (constant.name, constant.path):
        if hits := _VERSION.findall(text):
            return f"v{hits[-1]}"
    return None


def _has_examples(text: str) -> bool:
    return len(re.findall(r"\bexamples?\b", text, re.IGNORECASE)) >= 2


def _preference(c: Constant) -> tuple[bool, bool, bool, int, str, str]:
    """Sort key: files in use before tests and old copies, judge prompts before others; then shallow paths, by name."""
    unlikely = bool(_UNLIKELY.search(c.path) or _UNLIKELY.search(c.name))
    return unlikely, "retry" in c.name.lower(), "judge" not in (c.name + c.path).lower(), c.path.count("/"), c.path, c.name


def _retry_preference(c: Constant) -> tuple[bool, bool, int, str, str]:
    unlikely = bool(_UNLIKELY.search(c.path) or _UNLIKELY.search(c.name))
    return unlikely, "suffix" not in c.name.lower(), -len(c.text), c.path, c.name
