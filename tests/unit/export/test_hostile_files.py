"""Run folders and zips that somebody else made: a sentence and an exit code, whatever they hold, and never two readings."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import export, verify
from pipeline.errors import UserError
from pipeline.events import to_line
from pipeline.report.export.archive import run_zip
from pipeline.report.export.source import run_from_folder, run_of
from tests.made_runs import Made, write_run

DEEP = "[" * 5000 + "]" * 5000


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Journal and manifest of a made run, as its zip holds them."""
    folder = tmp_path_factory.mktemp("good")
    write_run(folder, Made(tasks=4, faults=0))
    run = run_from_folder(folder)
    with zipfile.ZipFile(_put(folder / "x.zip", run_zip(run))) as found:
        return {name: found.read(name) for name in ("events.jsonl", "manifest.json")}


def _put(path: Path, raw: bytes) -> Path:
    path.write_bytes(raw)
    return path


def packed(folder: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(folder / "run.zip", "w", zipfile.ZIP_DEFLATED) as made:
        for name, raw in files.items():
            made.writestr(name, raw)
    return folder / "run.zip"


def with_line(journal: bytes, more: str) -> bytes:
    """The journal with something put into the first event after its start."""
    lines = journal.split(b"\n")
    lines[1] = b"{" + more.encode() + lines[1][1:]
    return b"\n".join(lines)


HOSTILE = {"deep": f'"x": {DEEP}, ', "twice": '"kind": "a", ', "nan": '"x": NaN, ', "endless": '"x": -1e999, ', "digits": f'"x": {"9" * 5000}, ',
           "two halves": '"\\ud800": 1, "\\udbff": 2, '}


@pytest.mark.parametrize("how", HOSTILE)
def test_a_file_that_could_mean_two_things_is_refused(how: str, good: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A journal line with a name given twice was read in one of its two ways, and verify said that all agrees.
    for name, raw in (("events.jsonl", with_line(good["events.jsonl"], HOSTILE[how])),
                      ("manifest.json", b"{" + HOSTILE[how].replace("kind", "spec_digest").encode() + good["manifest.json"].lstrip()[1:])):
        path = packed(tmp_path, {**good, name: raw})
        for main, arguments in ((verify.main, [str(path)]), (export.main, [str(path), "--to", "json", "--out", str(tmp_path / "out")])):
            assert main(arguments) == 2
            said = capsys.readouterr().err
            assert "cannot be read" in said and len(said) < 400 and "x" * 50 not in said


@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b"\xff\xfe\x00", DEEP.encode(), b'"x"', b"{" * 100, b"{}", b'{"summary": 1}', b'{"finished": [[]]}'])
def test_a_manifest_of_any_kind_ends_in_a_sentence(raw: bytes, good: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = packed(tmp_path, {**good, "manifest.json": raw})
    assert verify.main([str(path)]) in (1, 2) and export.main([str(path), "--to", "json", "zip", "--out", str(tmp_path / "out")]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


def test_halves_of_characters_in_a_journal_are_replaced_and_every_export_can_be_made(good: dict[str, bytes], tmp_path: Path) -> None:
    odd = good["events.jsonl"].replace(b'"teacher', b'"\\ud83d\\u0000\\u001b[31mteacher').replace(b"acme/teacher-large", b"acme/\\ud83d\\u001b[2Jteacher")
    assert odd != good["events.jsonl"]
    run = run_of(odd)
    for to in export.FORMATS:
        for name, raw in export.export(run, to).items():
            name.encode()
            assert to == "zip" or b"\x1b" not in raw and raw.decode()


EVENTS = st.recursive(st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats() | st.text(max_size=8) | st.sampled_from(["nan", "inf", "\ud83d", 1e300, -1e18]),
                      lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
                          ["kind", "t", "task", "epoch", "score", "spec", "tasks", "outcome", "criterion", "cost", "x\ud83d"]), inner, max_size=6),
                      max_leaves=12)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["call", "task_finished", "verdict", "answered", "run_finished", "connections", "difference"]), EVENTS), max_size=4))
def test_a_journal_with_any_lines_in_it_never_ends_in_a_traceback(good: dict[str, bytes], tmp_path: Path, more: list[tuple[str, Any]]) -> None:
    lines = [json.dumps({**(e if isinstance(e, dict) else {"x": e}), "kind": kind}) for kind, e in more]
    path = packed(tmp_path, {"manifest.json": good["manifest.json"], "events.jsonl": good["events.jsonl"] + "\n".join(lines).encode()})
    assert verify.main([str(path)]) in (0, 1, 2)
    try:
        run = run_of(good["events.jsonl"] + "\n".join(lines).encode())
    except UserError:
        return
    for to in ("csv", "json", "eee", "svg"):
        try:
            for raw in export.export(run, to).values():
                assert raw
        except UserError:
            continue


def test_an_own_line_is_read_as_it_was_written(good: dict[str, bytes]) -> None:
    run = run_of(good["events.jsonl"])
    assert run.view.status == "finished" and b"".join(to_line(e).encode() + b"\n" for e in _events(good)) == good["events.jsonl"]


def _events(good: dict[str, bytes]) -> Any:
    from pipeline.report.export.source import events_of

    return events_of([good["events.jsonl"]])
