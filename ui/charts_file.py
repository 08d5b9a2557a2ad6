"""The charts of a run as one HTML file that needs no network: figures, their words and their tables.

Computes nothing of its own; text from the data is escaped. Plotly's own script is put inside, so the file is 5 MB.
"""

from html import escape

from pipeline.report.export.svg import comparison_line
from pipeline.report.summary import summarise
from pipeline.report.view import RunView
from ui.words import say, words

STYLE = ("body{font:16px/1.5 'IBM Plex Sans',system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#14212a}"
         "table{border-collapse:collapse;font-size:.9rem}td,th{border-bottom:1px solid #cdd6db;"
         "padding:.2rem .6rem;text-align:left}")


def charts_html(view: RunView, lang: str = "en") -> bytes:
    """The file, in one language. Takes a second; call it in a thread."""
    import plotly.io

    from ui.results.charts import Chart, charts
    from ui.results.figures import themed

    summary, table, first = summarise(view), words(lang), True

    def figure(chart: Chart) -> str:
        nonlocal first
        if not chart.spec:
            return ""
        spec = themed(chart.spec)
        spec["layout"] = {**spec.get("layout", {}), "template": {}}  # to_html takes no template of None
        made = plotly.io.to_html(spec, include_plotlyjs=first, full_html=False, validate=False,
                                 config={"displaylogo": False, "responsive": True})
        first = False
        return made

    def section(chart: Chart) -> str:
        head = "".join(f"<th>{escape(h)}</th>" for h in chart.head)
        rows = "".join("<tr>" + "".join(f"<td>{escape(c.text)}</td>" for c in row) + "</tr>" for row in chart.rows)
        parts = "".join(section(part) for part in chart.parts)
        return (f"<section><h2>{escape(chart.title)}</h2><p>{escape(chart.alt)}</p>{figure(chart)}"
                f"<details><summary>Table</summary><table><tr>{head}</tr>{rows}</table></details>{parts}</section>")

    body = "".join(section(c) for c in charts(summary, lambda key, **values: say(table, key, **values)))
    title = escape(f"L2-Bench: {summary.solver}")
    return (f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><meta name="robots" content="noindex">'
            f"<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>"
            f"<p>{escape(comparison_line(summary))}</p><p>Judge {escape(summary.judge)}, prompt {escape(summary.prompt)}</p>"
            f"{body}</body></html>").encode("utf-8", "replace")
