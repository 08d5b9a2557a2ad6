"""Reads what a browser asks of Gradio's handlers into one normal form, or refuses it in a sentence. Runs nothing.

The page has no file and no structured value: what a component takes is nothing, a plain value or a list of plain values.
"""

import re
from collections.abc import Mapping
from typing import Any

from pipeline.core.json_in import FROM_BROWSER, BadJson, read_json

LONGEST = 100_000  # characters of a typed value; a thousand task ids fit
CHOSEN = 1_000  # characters of a chosen one; Gradio repeats in its log a choice that is none
MOST = 5_000  # values of one list
SESSION = re.compile(r"[A-Za-z0-9_-]{1,64}")
NO_FILES = "This page takes no files."
# What each kind of component of the page sends; one that is not named here takes nothing.
KINDS: dict[str, tuple[type, ...]] = {
    "textbox": (str, int, float),
    "html": (str,),
    "dropdown": (str,),
    "radio": (str,),
    "checkbox": (bool,),
    "number": (int, float),
    "slider": (int, float),
}


class Refused(ValueError):
    """The request is not one of the page's. `status` is 400 or 404, the text one sentence for whoever sent it."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def read_call(raw: bytes, functions: Mapping[Any, Any]) -> dict[str, Any]:
    """The call in a body: nothing but the number of a handler, its values, what set it off, and the page's session.

    Args:
        functions: Gradio's handlers by number.

    Raises:
        Refused: it is not readable, names a file, an unknown handler, or values that the page would not send.
    """
    try:
        body = read_json(raw, FROM_BROWSER)
    except BadJson as error:
        raise Refused(400, str(error)) from None
    if names_file(body):
        raise Refused(400, NO_FILES)
    if not isinstance(body, dict):
        raise Refused(400, "What was sent is not a JSON object.")
    function = _function(body.get("fn_index"), functions)
    return {
        "data": _values(body.get("data"), function.inputs),
        "event_data": None,  # no handler reads it
        "fn_index": body["fn_index"],
        "trigger_id": _trigger(body.get("trigger_id")),
        "session_hash": session_in(body.get("session_hash")),
    }


def names_file(value: Any) -> bool:
    """Whether Gradio, of this version or another, could take a part of `value` for the record of a file."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            if found.keys() & {"path", "url", "meta", "_type", "orig_name", "is_stream"}:
                return True
            waiting += found.values()
        elif isinstance(found, list):
            waiting += found
        elif isinstance(found, str) and found.startswith("gradio.FileData"):
            return True
    return False


def session_in(found: Any) -> str:
    """The name that the page gave its session.

    Raises:
        Refused: it is none.
    """
    if not isinstance(found, str) or not SESSION.fullmatch(found):
        raise Refused(400, "What was sent names no session of a page.")
    return found


def _function(number: Any, functions: Mapping[Any, Any]) -> Any:
    if isinstance(number, bool) or not isinstance(number, int):
        raise Refused(400, "What was sent names no function by its number.")
    found = functions.get(number)
    if found is None or not found.fn:  # one that runs in the browser alone has nothing here to call
        raise Refused(404, "There is no such function.")
    return found


def _trigger(found: Any) -> int | None:
    if found is not None and (isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 1 << 31):
        raise Refused(400, "What was sent does not name what set it off by its number.")
    return found


def _values(data: Any, inputs: Any) -> list[Any]:
    if not isinstance(data, list) or len(data) != len(inputs):
        raise Refused(400, f"What was sent does not hold the {len(inputs)} values of this function.")
    for value, component in zip(data, inputs, strict=True):
        if not _fits(value, component):
            raise Refused(400, "What was sent holds a value of another kind than its field.")
    return data


def _fits(value: Any, component: Any) -> bool:
    name = component.get_block_name()
    chosen = name in ("dropdown", "radio")
    if value is None:  # a list without an empty choice always has one chosen
        return not (name == "dropdown" and not component.multiselect and not component.allow_custom_value)
    kinds, longest = KINDS.get(name, ()), CHOSEN if chosen else LONGEST
    if name == "dropdown" and component.multiselect:
        return isinstance(value, list) and len(value) <= MOST and all(_one(v, kinds, longest) for v in value)
    return _one(value, kinds, longest)


def _one(value: Any, kinds: tuple[type, ...], longest: int) -> bool:
    if isinstance(value, bool) and bool not in kinds:  # True is an int to Python
        return False
    return isinstance(value, kinds) and not (isinstance(value, str) and len(value) > longest)
