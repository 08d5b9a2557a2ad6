"""Binds the page's components to their handlers. Holds no logic.

Every event is private and short; `queue=False` answers within the request, so that the estimate follows the hand.
"""

from typing import Any

import gradio as gr

from ui.form import BASIC
from ui.handlers import Acts
from ui.page import Parts
from ui.start import Room

ROLES_JS = (
    "(s, j, sm, jm) => { window.l2roles = [s, j, {solver: sm, judge: jm}]; window.l2keys?.show(...window.l2roles); }"
)
OPEN_JS = "(id) => { if (id) window.l2open?.(id); }"
MINE_JS = "() => { document.querySelector('[data-mine]')?.dispatchEvent(new Event('l2-show')); }"


def connect(demo: gr.Blocks, parts: Parts, room: Room) -> None:
    """Wire the components to their handlers."""
    f, o = parts.field, parts.other
    acts = Acts(room)
    shown = [o["estimate"], o["estimate_details"], o["why"], o["run"], o["pilot"], f["max_cost"], o["source_why"]]
    quick: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    with demo:
        # Not on the source's own change: until its handler is done, the cap still has the value of the other set.
        changes = [c.change for name, c in f.items() if name not in ("source", "max_cost", "cap_auto")]
        gr.on(
            [*changes, f["max_cost"].input, f["cap_auto"].input, o["keys"].submit],
            acts.refresh,
            parts.inputs,
            shown,
            trigger_mode="always_last",
            **quick,
        )
        refresh: dict[str, Any] = {"fn": acts.refresh, "inputs": parts.inputs, "outputs": shown, **quick}
        f["max_cost"].input(lambda: False, None, f["cap_auto"], **quick)
        for role in ("solver", "judge"):
            models = [f[f"{role}_provider"], f[f"{role}_model"]]
            f[f"{role}_provider"].input(acts.models(role, fresh=True), models, models[1], **quick)
            o["keys"].submit(acts.models(role, fresh=False), models, models[1], **quick)
        judge = [f["judge_provider"], f["judge_model"]]
        f["solver_provider"].input(acts.judge_along, [f["solver_provider"], judge[0]], judge, **quick)
        roles = [f["solver_provider"], f["judge_provider"], f["solver_model"], f["judge_model"]]
        gr.on(
            [c.change for c in roles] + [demo.load], acts.note, [*roles, f["prompt_version"]], o["model_note"], **quick
        )
        gr.on([c.change for c in roles] + [demo.load], None, roles, None, js=ROLES_JS, **quick)
        filters = [f[n] for n in ("competency", "subcompetency", "context", "sample_limit")]
        f["source"].input(acts.source, f["source"], [o["source_why"], *filters], **quick).then(**refresh)
        tail = [o["account"], f["source"], f["sample_limit"], o["source_why"]]
        demo.load(acts.arrive, None, [o["tabs"], *filters[:3], f["task_ids"], *tail], **quick).then(**refresh)
        o["back"].click(acts.back, f["source"], [*filters[:3], *tail], **quick).then(**refresh)
        demo.load(
            acts.connected,
            None,
            [f[n] for n in ("solver_provider", "solver_model", "judge_provider", "judge_model")],
            **quick,
        )
        _presets(parts, acts, quick, refresh)
        for name in ("run", "pilot"):
            begun = o[name].click(
                acts.start(pilot=name == "pilot"),
                parts.inputs,
                [o["started"], o["why"], o["tabs"]],
                api_visibility="private",
                show_progress="hidden",
                concurrency_limit=20,
            )
            begun.then(None, o["started"], None, js=OPEN_JS, **quick)
        o["mine"].select(
            None,
            None,
            None,
            js=MINE_JS,
            **quick,
        )


def _presets(parts: Parts, acts: Acts, quick: dict[str, Any], refresh: dict[str, Any]) -> None:
    f, o = parts.field, parts.other
    demo_out = [f[n] for n in BASIC if n not in ("seed", "max_cost")]
    some = [f[n] for n in ("competency", "subcompetency", "context", "sample_limit")]
    chosen = o["preset_demo"].click(acts.preset_demo, None, demo_out, **quick)
    chosen.then(acts.source, f["source"], [o["source_why"], *some], **quick).then(**refresh)
    o["preset_competency"].click(acts.preset_competency, f["source"], some, **quick)
    o["preset_learners"].click(acts.preset_learners, f["source"], some, **quick)
