"""run.zip: fixed bytes, every file there, and nothing in it that is not public."""

import json
import os
import subprocess
import sys
from pathlib import Path

from pipeline.report.export.archive import files_of, run_zip
from pipeline.report.export.source import run_from_folder, run_from_zip
from pipeline.report.export.svg import competency_svg
from pipeline.report.summary import summarise
from runner.sharing import key_of
from tests.made_runs import made_view
from tests.unit.export.kit import made_folder, made_run, made_zip, packed, unpacked
from tests.unit.export.test_tables import hostile

FILES = ["README.txt", "tasks.csv", "verdicts.csv", "view.json", "competency.csv", "competency.svg", "eee.json", "hf.yaml",
         "model-index.yaml", "manifest.json", "events.jsonl"]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first = run_zip(made_run(tmp_path / "a", tasks=12))
    assert first == run_zip(made_run(tmp_path / "b", tasks=12))
    assert first != run_zip(made_run(tmp_path / "c", tasks=12, judge="openrouter/deepseek/deepseek-v3.2"))


def test_every_process_gives_the_same_bytes(tmp_path: Path) -> None:
    folder = made_folder(tmp_path, tasks=40, done=17, status="stopped", faults=0.3)  # lost balance: there is a re-weighted mean
    code = "import sys; from pathlib import Path; from hashlib import sha256; from pipeline.report.export.archive import run_zip; " \
           "from pipeline.report.export.source import run_from_folder; print(sha256(run_zip(run_from_folder(Path(sys.argv[1])))).hexdigest())"
    made = {subprocess.run([sys.executable, "-c", code, str(folder)], env={**os.environ, "PYTHONHASHSEED": seed},
                           capture_output=True, text=True, check=True).stdout for seed in "12345"}
    assert len(made) == 1


def test_a_damaged_manifest_is_made_anew(tmp_path: Path) -> None:
    folder = made_folder(tmp_path, tasks=4)
    whole = run_zip(run_from_folder(folder))
    (folder / "manifest.json").write_text('{"format": 1, "sta')
    assert run_zip(run_from_folder(folder)) == whole


def test_the_zip_holds_every_file_and_gives_itself_again(tmp_path: Path) -> None:
    path = made_zip(tmp_path, tasks=12)
    assert list(unpacked(path)) == FILES
    assert run_zip(run_from_zip(path)) == path.read_bytes()


def test_neither_text_nor_secret_id_is_in_any_file(tmp_path: Path) -> None:
    # https://huggingface.co/datasets/OUP/l2-bench: gated examples must not be published in plain text.
    secret = "canarysecretidcanarysecret"
    folder = made_folder(tmp_path / key_of(secret), tasks=8, answer="CANARYANSWER eight words of an answer nobody may see")
    (folder / "meta.json").write_text(json.dumps({"owner": "CANARYOWNER"}))
    (folder / "private" / "run.eval").write_bytes(b"CANARYEVAL")
    assert b"CANARYANSWER" in (folder / "private" / "ledger.jsonl").read_bytes()
    for name, data in files_of(run_from_folder(folder)).items():
        for canary in (b"CANARY", secret.encode(), key_of(secret).encode(), str(tmp_path).encode()):
            assert canary not in data, name


def test_a_run_without_a_score_leaves_out_what_needs_one(tmp_path: Path) -> None:
    names = list(files_of(made_run(tmp_path, tasks=4, done=0, status="running")))
    assert names == [n for n in FILES if n not in ("eee.json", "hf.yaml", "model-index.yaml")]


def test_a_run_that_went_on_gets_a_new_manifest_and_a_tampered_one_does_not(tmp_path: Path) -> None:
    folder = made_folder(tmp_path, tasks=4)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "cost": 0.0}))
    assert run_from_folder(folder).manifest["cost"] == 0.0
    (folder / "manifest.json").write_text(json.dumps({**manifest, "finished": 1.0}))
    assert run_from_folder(folder).manifest == manifest


def test_the_readme_says_the_score_and_the_differences_on_one_line(tmp_path: Path) -> None:
    text = files_of(made_run(tmp_path, tasks=12))["README.txt"].decode()
    (line,) = [part for part in text.splitlines() if part.startswith("Score")]
    assert "scored =" in line and "attempted =" in line and "demo tasks, not the published set" in line
    assert "python -m pipeline.verify run.zip" in text


def test_faults_are_counted_in_the_manifest_itself(tmp_path: Path) -> None:
    # https://github.com/devrev/enterprise-bench/pull/17: faults of the infrastructure were told by hand, in prose.
    run = made_run(tmp_path, tasks=40, faults=0.5)
    counts = run.manifest["counts"]
    assert sum(counts.values()) == 40 and counts["api_error"] + counts["judge_unparsable"] > 0
    assert counts == json.loads(files_of(run)["view.json"])["counts"]


def test_a_picture_shows_text_as_text() -> None:
    # https://github.com/Yamato-Security/senrigan/pull/54: text of a model ran as HTML in a report.
    import xml.etree.ElementTree as ET

    picture = competency_svg(summarise(hostile()))
    assert b"<img" not in picture and b"&lt;img" in picture
    tags = {e.tag.rsplit("}")[-1] for e in ET.fromstring(picture).iter()}
    assert tags <= {"svg", "title", "desc", "rect", "text", "line", "path"}


def test_bars_below_zero_stay_in_the_picture() -> None:
    import re

    picture = competency_svg(summarise(made_view(skill=0.0, tasks=30))).decode()
    assert all(float(w) >= 0 for w in re.findall(r'width="([^"]+)"', picture))


def test_a_stranger_s_zip_with_other_files_is_read_without_them(tmp_path: Path) -> None:
    members = unpacked(made_zip(tmp_path, tasks=4))
    path = tmp_path / "more.zip"
    path.write_bytes(packed({"run/" + n: d for n, d in members.items()}))
    assert run_from_zip(path).journal == members["events.jsonl"]
