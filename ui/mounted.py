"""Puts Gradio's page into our app, and sets by hand what only Gradio's own `launch()` would set.

A mounted app never runs `launch()`, so its checks stay off unless they are switched on here. Nothing reaches the mounted
app but through `ui.gradio_door`.
"""

import os
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI

from ui.gradio_door import GradioDoor

QUEUE_PLACES = 200
AT_ONCE = 20
SESSIONS = 1000
CACHE_SECONDS = 3600


def mount(app: FastAPI, demo: gr.Blocks, **look: Any) -> GradioDoor:
    """Mount `demo` at the root of `app`, after all of our own routes, and give back the door before it.

    Args:
        look: arguments of `gr.mount_gradio_app` that only change how the page looks.
    """
    _before(demo)
    gr.mount_gradio_app(
        app,
        demo,
        path="/",
        root_path="",  # else GRADIO_ROOT_PATH
        ssr_mode=False,  # else GRADIO_SSR_MODE, which a Space sets, starts a Node server on our port
        mcp_server=False,  # else GRADIO_MCP_SERVER
        run_history=False,  # else GRADIO_RUN_HISTORY; it would keep all inputs of a form
        enable_monitoring=False,  # None leaves /monitoring/summary open
        show_error=False,  # launch()'s own default; a mount shows the text of every fault
        pwa=False,
        allowed_paths=[],
        blocked_paths=[os.path.abspath(os.sep)],  # the page has no file: none may be copied, none served
        max_file_size=1,  # bytes; the page takes no file
        footer_links=[],
        **look,
    )
    mounted = app.router.routes[-1]
    inner = mounted.app  # type: ignore[attr-defined]
    _after(demo, inner)
    door = GradioDoor(inner, own_files())
    mounted.app = door  # type: ignore[attr-defined]
    return door


def _before(demo: gr.Blocks) -> None:
    """What Gradio reads while it mounts."""
    demo.space_id = None  # or Gradio's script would ask huggingface.co about this Space from every visitor's browser
    demo.vibe_mode = demo.dev_mode = False  # GRADIO_VIBE_MODE edits the app's own source over HTTP
    demo.delete_cache = (CACHE_SECONDS, CACHE_SECONDS)  # a copied file would stay for good
    demo.state_session_capacity = SESSIONS  # launch() has an argument; 10,000 sessions of 45 kB each otherwise
    # max_threads is 40 here as it is by default in launch(); the queue takes it over in queue().
    demo.queue(default_concurrency_limit=AT_ONCE, max_size=QUEUE_PLACES, api_open=False)


def _after(demo: gr.Blocks, inner: Any) -> None:
    """What `launch()` sets once the server stands."""
    # Without this one every path check returns at once: any record of a file in any input copied any file of the server
    # into the folder that is served (gradio/processing_utils.py, _check_allowed).
    demo.has_launched = True
    demo.is_running = True  # while it is not, every SVG that is named becomes a file that may be served
    demo.share = False  # else GRADIO_SHARE
    demo.server_app = demo.app = inner  # what `close()` and the queue speak to
    demo._queue.set_server_app(inner)  # else bound at the first event
    # The lifespan runs the start-up events; a GET of /startup-events would run them a second time, with a second queue.
    inner.startup_events_triggered = True


def own_files() -> frozenset[str]:
    """Addresses of the scripts, styles and fonts of Gradio's own page, listed once, so that no address can lead beside them."""
    root = Path(gr.__file__).parent / "templates" / "frontend"
    found = (path for folder in ("assets", "static") for path in (root / folder).rglob("*") if path.is_file())
    return frozenset("/" + path.relative_to(root).as_posix() for path in found)
