"""The Gradio page: layout of the form, the live view and the list of runs. Evaluates nothing, holds no visitor's data.

Components are named after the form's fields; what happens on a change is in `ui.handlers`.
"""

from html import escape
from typing import Any

import gradio as gr

from pipeline.settings import Setting
from runner.providers.catalogue import offered, provider
from runner.providers.models import bundled
from ui.form import ADVANCED, DEFAULT_CAP_TASKS, FIELDS, context_value
from ui.limit import Limit
from ui.live import live_fragment, mine_fragment
from ui.live import w as word
from ui.sources import Offer
from ui.words import LANGUAGES, words

I18N = gr.I18n(**{code: words(code) for code in LANGUAGES})
SOLVER = ("demo", "strong")
JUDGE = ("demo", "judge")
LIVE_JS = "import('/static/js/live.js').then((m) => m.mount(element.querySelector('[data-live]')));"
MINE_JS = "import('/static/js/mine.js').then((m) => m.mount(element.querySelector('[data-mine]')));"
KEYS_JS = "import('/static/js/keys.js').then((m) => m.mount(element, () => trigger('submit')));"


def t(key: str) -> Any:
    """The words under `key`, in the visitor's language, chosen by the browser."""
    return I18N(key)


class Parts:
    """The components by name; nothing else."""

    def __init__(self) -> None:
        self.field: dict[str, Any] = {}
        self.other: dict[str, Any] = {}

    @property
    def inputs(self) -> list[Any]:
        """The form's components in the order of `FIELDS`."""
        return [self.field[name] for name in FIELDS]


def build(offer: Offer, kinds: list[str]) -> tuple[gr.Blocks, Parts]:
    """The page for the tasks of `offer`; `kinds` are the sources to choose from."""
    parts = Parts()
    with gr.Blocks(title="L2-Bench Live", fill_width=False, analytics_enabled=False) as demo:
        _html(_header(), elem_id="head")
        parts.other["account"] = _html("", elem_id="account")
        parts.other["back"] = gr.Button("", visible="hidden", elem_id="gate-back")
        with gr.Tabs(elem_id="tabs") as tabs:
            parts.other["tabs"] = tabs
            with gr.Tab(t("nav_run"), id="run"):
                _run_tab(parts, offer, kinds)
            with gr.Tab(t("nav_live"), id="live", render_children=True):
                gr.HTML(live_fragment(), js_on_load=LIVE_JS, elem_id="live", apply_default_css=False)
            with gr.Tab(t("nav_mine"), id="mine", render_children=True) as mine:
                gr.HTML(mine_fragment(), js_on_load=MINE_JS, elem_id="mine", apply_default_css=False)
                parts.other["mine"] = mine
        _html(
            f'<footer class="l2 l2-foot">{word("foot_scripted")}<a href="/privacy">{word("nav_privacy")}</a></footer>'
        )
    return demo, parts


def _html(text: str, **more: Any) -> Any:
    """Our own HTML, without the styles that Gradio gives to prose."""
    return gr.HTML(text, apply_default_css=False, **more)


def _header() -> str:
    links = f'<a href="/" aria-current="page">{word("nav_run")}</a>' + "".join(
        f'<a href="/{path}">{word(f"nav_{path}")}</a>' for path in ("explore", "gallery", "compare", "privacy")
    )
    langs = "".join(
        f'<a href="?lang={code}" lang="{code}" hreflang="{code}">{escape(name)}</a>' for code, name in LANGUAGES.items()
    )
    return (
        f'<header class="l2 l2-head"><h1><a class="brand" href="/">L2-Bench Live</a></h1><nav aria-label="Pages">{links}</nav>'
        f'<nav class="langs" aria-label="Language">{langs}</nav>{word("app_lede", "p", "lede")}</header>'
    )


def _run_tab(parts: Parts, offer: Offer, kinds: list[str]) -> None:
    with gr.Row(elem_id="run-grid"):
        with gr.Column(scale=3, min_width=320, elem_id="form"):
            _presets(parts)
            _models(parts)
            _tasks(parts, offer, kinds)
            _advanced(parts)
        with gr.Column(scale=2, min_width=320, elem_id="side"):
            _side(parts)


def _title(key: str) -> None:
    _html(f'<div class="l2">{word(key, "h2")}</div>', elem_classes=["section-title"])


def _presets(parts: Parts) -> None:
    with gr.Row(elem_id="presets"):
        for name in ("demo", "competency", "learners"):
            with gr.Column(min_width=150, scale=1):
                parts.other[f"preset_{name}"] = gr.Button(t(f"preset_{name}"), size="md", elem_id=f"preset-{name}")
                _html(f'<div class="l2">{word(f"preset_{name}_help", "p", "help")}</div>')


def _models(parts: Parts) -> None:
    with gr.Column(elem_classes=["card"], min_width=240, elem_id="models"):
        _title("section_models")
        for role, (provider_id, model) in (("solver", SOLVER), ("judge", JUDGE)):
            with gr.Row():
                parts.field[f"{role}_provider"] = gr.Dropdown(
                    [(p.name, p.id) for p in offered()],
                    value=provider_id,
                    label=t(f"{role}_provider"),
                    info=t(f"{role}_provider_help"),
                    elem_id=f"{role}-provider",
                    min_width=220,
                )
                parts.field[f"{role}_model"] = gr.Dropdown(
                    model_choices(provider_id, role),
                    value=model,
                    allow_custom_value=True,
                    label=t(f"{role}_model"),
                    info=t(f"{role}_model_help"),
                    elem_id=f"{role}-model",
                    min_width=220,
                )
        parts.other["model_note"] = _html("", elem_id="model-note")
        _title("section_keys")
        parts.other["keys"] = gr.HTML(
            '<div class="l2 keys" data-cards></div>', js_on_load=KEYS_JS, elem_id="keys", apply_default_css=False
        )


def model_choices(provider_id: str, role: str) -> list[str]:
    """The ids offered before a key is given: known judges first for the judge, then the bundled list."""
    entry = provider(provider_id)
    ids = bundled(entry).ids
    if provider_id == "demo":
        return ["judge"] if role == "judge" else ["strong", "weak", "faulty"]
    known = list(entry.judges) if role == "judge" else []
    return list(dict.fromkeys([*known, *ids]))


def _tasks(parts: Parts, offer: Offer, kinds: list[str]) -> None:
    choices = task_choices(offer)
    with gr.Column(elem_classes=["card"], min_width=240, elem_id="tasks"):
        _title("section_tasks")
        parts.field["source"] = gr.Radio(
            [(t(f"source_{k}"), k) for k in kinds],
            value="demo",
            label=t("source_label"),
            info=t("source_help"),
            elem_id="source",
            visible=len(kinds) > 1,
        )
        parts.other["source_why"] = _html(
            f'<div class="l2"><p class="note">{escape(offer.why)}</p></div>', elem_id="source-why"
        )
        parts.field["competency"] = _filter("competency", choices["competency"])
        parts.field["subcompetency"] = _filter("subcompetency", choices["subcompetency"])
        parts.field["context"] = _filter("context", choices["context"])
        total = len(offer.tasks.tasks) if offer.tasks else 1
        parts.field["sample_limit"] = Limit(
            1,
            max(2, total),
            value=min(DEFAULT_CAP_TASKS, total),
            step=1,
            label=t("sample_limit"),
            info=t("sample_limit_help"),
            elem_id="sample-limit",
            buttons=[],
        )
        with gr.Row():
            parts.field["sampling"] = gr.Radio(
                [(t("sampling_stratified"), "stratified"), (t("sampling_first"), "first")],
                value="stratified",
                label=t("sampling"),
                info=t("sampling_help"),
                elem_id="sampling",
            )
            parts.field["seed"] = gr.Number(
                0, precision=0, minimum=0, label=t("seed"), info=t("seed_help"), elem_id="seed"
            )


def _filter(name: str, choices: list[tuple[str, str]]) -> Any:
    return gr.Dropdown(choices, multiselect=True, value=[], label=t(name), info=t(f"{name}_help"), elem_id=name)


def task_choices(offer: Offer) -> dict[str, list[tuple[str, str]]]:
    """What can be filtered by, with the number of tasks; everything comes from the data."""
    from collections import Counter

    from pipeline.data.facets import counts

    tasks = offer.tasks.tasks if offer.tasks else ()
    competency = Counter(task.competency for task in tasks)
    sub = Counter(name for task in tasks for name in task.subcompetencies)
    return {
        "competency": [(f"{name} ({n})", name) for name, n in sorted(competency.items())],
        "subcompetency": [(f"{name} ({n})", name) for name, n in sorted(sub.items())],
        "context": [
            (f"{key}: {value} ({n})", context_value(key, value))
            for key, values in counts(tasks).items()
            for value, n in values.items()
        ],
    }


def _advanced(parts: Parts) -> None:
    with gr.Accordion(t("section_advanced"), open=False, elem_id="advanced", elem_classes=["card"]):
        _html(f'<div class="l2">{word("advanced_exclusive", "p", "note")}{word("advanced_empty", "p", "help")}</div>')
        rows = list(ADVANCED)
        for i in range(0, len(rows), 2):
            with gr.Row():
                for row in rows[i : i + 2]:
                    parts.field[row.name] = _advanced_field(row)


def _advanced_field(row: Setting) -> Any:
    name = row.name.replace(".", "_")
    common: dict[str, Any] = {
        "label": t(f"set_{name}"),
        "info": t(f"help_{name}"),
        "elem_id": f"set-{name.replace('_', '-')}",
    }
    if row.choices:
        return gr.Radio(list(row.choices), value=row.default, **common)
    if row.kind is bool:
        return gr.Checkbox(bool(row.default), **common)
    if row.many:
        return gr.Textbox(", ".join(row.default), max_lines=1, **common)
    if row.kind in (int, float) and row.default is None:
        # A Gradio number shows an empty value as 0, and 0 is a setting here.
        return gr.Textbox("", placeholder="–", max_lines=1, **common)
    return gr.Number(
        row.default, precision=0 if row.kind is int else None, step=1 if row.kind is int else 0.1, minimum=0, **common
    )


def _side(parts: Parts) -> None:
    with gr.Column(elem_classes=["card"], min_width=240, elem_id="before"):
        _title("section_estimate")
        parts.other["estimate"] = _html(f'<div class="l2">{word("est_wait", "p", "help")}</div>', elem_id="estimate")
        with gr.Row():
            parts.field["max_cost"] = gr.Textbox(
                "", placeholder="–", max_lines=1, label=t("max_cost"), info=t("max_cost_help"), elem_id="max-cost"
            )
            parts.field["cap_auto"] = gr.Checkbox(
                True, label=t("cap_auto"), info=t("cap_auto_help"), elem_id="cap-auto"
            )
        parts.other["why"] = _html("", elem_id="why")
        with gr.Row(elem_id="go"):
            parts.other["run"] = gr.Button(t("run"), variant="primary", elem_id="run-button", interactive=False)
            parts.other["pilot"] = gr.Button(t("pilot"), elem_id="pilot-button", interactive=False)
        _html(f'<div class="l2">{word("run_help", "p", "help")}{word("pilot_help", "p", "help")}</div>')
        parts.other["estimate_details"] = _html("", elem_id="estimate-details")
        parts.other["started"] = gr.Textbox("", visible="hidden", elem_id="started", label="run")
