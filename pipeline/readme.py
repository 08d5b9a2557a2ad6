"""The settings table of README.md, from the one table of settings: `python -m pipeline.readme` writes it anew.

Never touches a line outside its two marks.
"""

from pathlib import Path

from pipeline.settings import SETTINGS, Setting

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- settings:begin -->", "<!-- settings:end -->"


def table() -> str:
    """The table as Markdown."""
    rows = ["| Flag | Default | Reference | What it does |", "|---|---|---|---|"]
    return "\n".join(rows + [_row(s) for s in SETTINGS])


def _row(s: Setting) -> str:
    choices = f" One of {', '.join(s.choices)}." if s.choices else ""
    return f"| `{s.flag}` | {_value(s.default)} | {_value(s.reference)} | {s.help}{choices} |"


def _value(value: object) -> str:
    return "" if value in (None, (), "") else f"`{value}`"


def with_table(text: str) -> str:
    """README's text with the table between the two marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
