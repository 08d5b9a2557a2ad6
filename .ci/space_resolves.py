"""Resolves the exact install command of a Gradio Space and fails where the result differs from requirements.txt."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
readme = (ROOT / "README.md").read_text(encoding="utf-8")
sdk = re.search(r"^sdk_version: (\S+)$", readme, re.M)[1].strip("\"'")
python = re.search(r"^python_version: (\S+)$", readme, re.M)[1].strip("\"'")
wanted = f"-r {ROOT / 'requirements.txt'}\ngradio[oauth,mcp]=={sdk}\nuvicorn>=0.14.0\nwebsockets>=10.4\nspaces\n"
with tempfile.TemporaryDirectory() as folder:
    source = Path(folder) / "space.in"
    source.write_text(wanted)
    command = ["uv", "pip", "compile", "--quiet", "--python-version", python, str(source)]
    result = subprocess.run([str(ROOT / ".venv/bin" / command[0]), *command[1:]], capture_output=True, text=True)
if result.returncode:
    sys.exit(f"the Space's install command does not resolve:\n{result.stderr}")


def pins(text: str) -> dict[str, str]:
    """Package to version, for the lines that apply to the Space's Python on Linux."""
    from packaging.requirements import Requirement

    found = {}
    for line in text.splitlines():
        line = line.split(" #")[0].strip()
        if line and not line.startswith(("#", "-")):
            requirement = Requirement(line)
            environment = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
            if requirement.marker is None or requirement.marker.evaluate(environment):
                found[requirement.name.lower().replace("_", "-")] = str(requirement.specifier)
    return found


ours, theirs = pins((ROOT / "requirements.txt").read_text()), pins(result.stdout)
differ = {n: (ours.get(n), v) for n, v in theirs.items() if ours.get(n) != v}
if differ or set(ours) - set(theirs):
    sys.exit(f"requirements.txt is not what a Space installs: {differ or set(ours) - set(theirs)}")
print(f"the Space resolves to the {len(theirs)} pins of requirements.txt")
