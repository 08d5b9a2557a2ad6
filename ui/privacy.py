"""The privacy page: what is stored where and for how long, and what a token is used for, in plain words. Static."""

import os

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runner.limits import Limits
from ui.results.frame import Page

QUESTIONS: tuple[tuple[str, str], ...] = (
    (
        "Your API key",
        "A key that you type goes once, over this page's own connection, into the memory of the server. It is kept there for an "
        "hour after its last use, or until you press Forget key or sign out. The process that runs your evaluation gets it "
        "through a pipe and forgets it when the run ends. It is sent to its own provider and to nobody else. It is never "
        "written to a file, a log, a link, a result or your browser's storage. When the server restarts, all keys are gone; to "
        "go on with a run you enter the key again.",
    ),
    (
        "Your Hugging Face sign-in",
        "Signing in is optional. It is used for three things: to check that you have accepted the terms of the gated dataset "
        "and read it with your own access; to call Hugging Face's Inference Providers on your own account where you choose "
        "them; and to tell that a run is yours. The token stands with your user name in a signed cookie in your browser, until "
        "you sign out and for 14 days at most, and is not stored on the server; it ends by itself after some hours. After you "
        "sign out, no copy of that cookie works: the server keeps a digest of the sign-in's random id until the token ends. The "
        "process of a run that needs it holds it in memory until the run ends. Of your account only a salted digest is kept "
        "beside your runs. The dataset is copied to a cache that is yours alone; it is deleted when you sign out (some minutes "
        "later where a run is just reading it), an hour after you last used it, when your sign-in ends, and when the server "
        "restarts.",
    ),
    (
        "What a run leaves behind",
        "A public record: which tasks were chosen, by number; the verdict on every criterion; outcomes, tokens, money and "
        "times; the models and settings. It holds no text of a task, an answer, a rubric or a judge. Beside it a private "
        "record with all text, tasks included, which only you can fetch: with the run's secret link, or, for a run that you "
        "started signed in, with your account. Both lie in the server's data folder. {keep}",
    ),
    (
        "Who sees it",
        "A new run is private: only someone with its secret link can see it, and of a run on the gated dataset no more than the "
        "public record; its text needs your account. You can share it under another, public link, or "
        "list it in the gallery (of a run on the demo tasks the answers and the judge's words are then seen too); "
        "the public link can be revoked or given an end. Deleting a run removes all of its files. "
        "Shared runs may be copied to a public results dataset where the owner of this app has set one up; private runs are not. "
        "Result pages ask search engines to stay away.",
    ),
    (
        "In your browser",
        "One random cookie, which ties your key to your browser for as long as the browser is open; the cookie of your sign-in, "
        "if you sign in; and the list of your runs with their secret links, in local storage. Remove a run from the list on the "
        "My runs tab. No key, no tracking, and no request to any other site.",
    ),
    (
        "What providers see",
        "The tasks, the model's answers and the judge's questions go to the providers that you chose, under their own terms. "
        "The gated dataset's terms forbid training on it: use providers that do not train on what you send.",
    ),
    (
        "What the host sees",
        "The server keeps no access log. To hold the limits per visitor it keeps your network address (of an IPv6 address the "
        "first half) in memory for an hour, and as long as a run or a key of yours is held. Hugging Face, "
        "which hosts public copies, has its own privacy policy.",
    ),
)


def keep_sentence(days: int) -> str:
    """How long private runs stay."""
    if days:
        return f"A private run is deleted {days} days after it has ended; a shared one stays until you delete it or its link ends."
    return "They stay until you delete the run."


async def show(request: Request) -> Response:
    """The page, in English; its frame speaks the visitor's language."""
    keep = keep_sentence(Limits.from_env(os.environ).keep_days)
    return Page(request).respond("privacy.html", parts=[(title, text.replace("{keep}", keep)) for title, text in QUESTIONS])


routes = [Route("/privacy", show, methods=["GET", "HEAD"])]
