"""The routes of the server-rendered pages. Evaluates nothing, stores nothing; a run is asked of the service each time."""

from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from runner.gate import Texts
from ui import compare, explore, gallery
from ui.results.access import KeptTasks
from ui.results.run_page import RunPage
from ui.visitor import hf_user


def routes(service: Any, texts: Texts, kept_tasks: KeptTasks, sources: Any = None,
           viewer: Callable[[Request], str | None] = hf_user) -> list[Route]:
    """All routes of this package.

    Args:
        service: a `runner.service.RunService`.
        texts: who may see the text of a run.
        kept_tasks: (request, digest) -> the visitor's own copy of the gated `TaskSet`, or None; on a hosted page gated
            text comes from there alone. May block.
        sources: a `ui.sources.Sources` for the explore page; None means the demo tasks alone.
        viewer: Hugging Face user name of the one who asks, or None.
    """
    run = RunPage(service, texts, viewer, kept_tasks)
    runs, listed, tasks = compare.Compare(service, viewer), gallery.Gallery(service), explore.Explore(sources)
    return [
        Route("/r/{rid}", run.page), Route("/r/{rid}/card.png", run.card), Route("/r/{rid}/charts.json", run.charts),
        Route("/r/{rid}/share", run.share, methods=["POST"]), Route("/r/{rid}/delete", run.delete, methods=["POST"]),
        Route("/gallery", listed.page), Route("/compare", runs.page), Route("/compare/charts.json", runs.charts),
        Route("/explore", tasks.page), Route("/explore/charts.json", tasks.charts),
        Route("/explore/estimate", tasks.estimate, methods=["GET", "POST"]),
    ]
