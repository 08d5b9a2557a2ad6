"""The house: arrows run one way, files stay small, the web process never loads inspect, nothing names a machine."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("pipeline", "runner", "ui")
FILES = [p for room in ROOMS for p in (ROOT / room).rglob("*.py")] + [ROOT / "app.py"]
FORBIDDEN = {"pipeline": {"runner", "ui", "gradio"}, "runner": {"ui", "gradio"}}
WEB_FREE = {"runner", "ui"}


def imports(path: Path) -> set[str]:
    """First names of everything a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {a.name.split(".")[0] for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_run_one_way(path):
    room = path.relative_to(ROOT).parts[0]
    assert not imports(path) & FORBIDDEN.get(room, set())
    if room in WEB_FREE:
        assert "inspect_ai" not in imports(path)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_module_says_what_it_is_and_stays_small(path):
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module opens with what it is"
    assert len(text.splitlines()) <= 400


def test_the_web_process_never_loads_inspect(tmp_path):
    code = ("import sys, app; from pathlib import Path; from ui.site import build_app; build_app(Path(sys.argv[1]));"
            "sys.exit(any(m.split('.')[0] == 'inspect_ai' for m in sys.modules))")
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, timeout=120).returncode == 0


def test_the_command_line_needs_no_gradio():
    code = "import sys; sys.modules['gradio'] = None; import pipeline.eval, pipeline.run, pipeline.engine; pipeline.flags.build_parser()"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, timeout=120).returncode == 0


def test_nothing_in_the_project_names_a_machine():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    words = re.compile("/" + "work/|/" + r"root/|\.lib" + "rary")
    named = [f for f in files if f and (ROOT / f).suffix in (".py", ".md", ".js", ".css", ".json", ".toml", ".txt", ".sh", ".yaml")
             and words.search((ROOT / f).read_text(encoding="utf-8", errors="ignore"))]
    assert not named
