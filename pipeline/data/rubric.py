"""Rubric text -> criteria. Entries stand between `|`; each is `ID. description ==W` with W an integer.

Strict where a wrong reading would change a score; what cannot be read is named, never guessed.
"""

import re
from dataclasses import dataclass, replace

from pipeline.data.problem import Level, character, quoted
from pipeline.data.readings import doubt
from pipeline.data.records import Criterion, Layer

ENTRY_FORM = "ID. description ==W, with W an integer such as 5 or -4 directly after == at the end."
MAX_WEIGHT_DIGITS = 6
MAX_ID_CHARS = 24
_WEIGHT = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong in one entry of a rubric cell; `criterion` is its id or its first words."""

    criterion: str
    found: str
    expected: str = ENTRY_FORM
    level: Level = "error"


def parse(text: str, layer: Layer, task_key: str) -> tuple[list[Criterion], list[Fault]]:
    """Criteria of one rubric cell, in order, and what could not be read.

    Ids of the task layer get the prefix `<task_key>-`; the other layers keep theirs. Empty text gives neither.
    """
    criteria: list[Criterion] = []
    faults: list[Fault] = []
    entries = [entry.strip() for entry in text.split("|")]
    for position, entry in enumerate(entries, 1):
        if not entry:
            if 1 < position < len(entries):
                faults.append(Fault("", f"Entry {position} is empty.", "Text between two pipes.", "warning"))
            continue
        criterion, found = _entry(entry, layer)
        faults += found
        if criterion:
            name = f"{task_key}-{criterion.id}" if layer is Layer.TASK else criterion.id
            criteria.append(replace(criterion, id=name))
    return criteria, _hint_at_pipe(faults, len(entries))


def _entry(entry: str, layer: Layer) -> tuple[Criterion | None, list[Fault]]:
    name, dot, rest = _split_id(entry)
    label = name if dot and not _is_prose(name) else quoted(entry)
    body, sign, tail = rest.rpartition("==")
    description = body.strip()
    faults = [Fault(label, f"No id: the entry begins {quoted(entry)}.")] if not dot else []
    weight_fault = _weight_fault(tail) if sign else "No weight: there is no == at the end."
    if weight_fault:
        faults.append(Fault(label, weight_fault))
    elif not description:
        faults.append(Fault(label, "No description between the id and ==."))
    elif description.endswith("="):
        faults.append(Fault(label, "Three = signs stand before the weight."))
    elif twofold := doubt(name, body, int(tail)):
        faults.append(Fault(label, twofold.found, "A | between two entries, and one ==W at the end of each.", twofold.level))
    if any(f.level == "error" for f in faults):
        return None, faults
    if _is_prose(name):
        found = f"The id looks like prose: {quoted(name)}; the text up to the first full stop is taken as id."
        faults.append(Fault(quoted(name), found, "A short id such as 01 or 06u1, a full stop and a space.", "warning"))
    return Criterion(name, layer, description, int(tail)), faults


def _split_id(entry: str) -> tuple[str, str, str]:
    """Id, full stop and the rest, divided at the first full stop that a space follows."""
    match = re.match(r"([^=]*?)\.\s+", entry)
    if not match or not match[1].strip():
        return "", "", entry
    return match[1].strip(), ".", entry[match.end() :]


def _is_prose(name: str) -> bool:
    digits = any(c.isdigit() for c in name)
    return " " in name or len(name) > MAX_ID_CHARS or (not digits and len(name) > 2)


def _weight_fault(tail: str) -> str:
    """What is wrong with the text after ==, or ""."""
    if _WEIGHT.fullmatch(tail):
        return "" if len(tail) <= MAX_WEIGHT_DIGITS else f"The weight {quoted(tail)} has too many digits."
    if not tail:
        return "No weight: nothing stands after ==."
    odd = next((c for c in tail if ord(c) > 126), "")
    if odd:
        return f"The weight {quoted(tail.strip())} holds {character(odd)}."
    if _WEIGHT.fullmatch(tail.strip()):
        return f"There is a space between == and the weight {tail.strip()}."
    if re.fullmatch(r"\s*[-+]?[0-9]*[.,][0-9]+", tail):
        return f"The weight {quoted(tail.strip())} is not a whole number."
    return f"After == stands {quoted(tail)}."


def _hint_at_pipe(faults: list[Fault], entries: int) -> list[Fault]:
    """Where an entry lacks its weight and another its id, a pipe inside a description is the usual cause."""
    no_weight = any(f.found.startswith("No weight: there") for f in faults)
    no_id = any(f.found.startswith("No id") for f in faults)
    if entries < 2 or not (no_weight or no_id):
        return faults
    hint = " A | inside a description splits it in two."
    return [replace(f, found=f.found + hint) if f.found.startswith("No ") else f for f in faults]
