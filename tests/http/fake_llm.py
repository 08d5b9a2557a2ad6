"""A scriptable fake LLM server for tests: one port, five dialects, loopback only, in a process or thread of its own.

    python -m tests.http.fake_llm        prints its address

What a request gets is decided, in this order, by: a step queued for its role (`POST /_fake/script {"solver": [...],
"judge": [...]}`; a step with "times" serves that often, with "every" for ever), the model's name
(`fake;status=429;retry_after=2;times=2`), else: a plan for the solver and `true` for the judge.
A request is the judge's where its model name holds "judge". Keys of a step: delay, status, retry_after, headers, error,
code, raw (with status_raw), error200, text, reasoning, finish, usage ("none" or {in, out, cached, reasoning, cost, ...}), cut,
match (only requests whose text holds this), spoil (put behind the answer's first bracket), redirect, echo_key and echo_prompt (the error quotes what it got), blocked,
stream_error.
"""

import asyncio
import itertools
import json
import sys
import threading
import time
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.http.fake_dialects import BODIES, Step, anthropic_events, error_body, spoiled

ANSWER = "Here is a plan in three stages, with timings, wording for learners and answers."


class State:
    """What one server was told and what it saw."""

    def __init__(self) -> None:
        self.queue: dict[str, list[Step]] = {"solver": [], "judge": []}
        self.journal: list[dict[str, Any]] = []
        self.seen: dict[str, int] = {}
        self.ids = itertools.count(1)
        self.calls: dict[str, int] = {}

    def step(self, role: str, model: str, text: str) -> Step:
        """The step that this request gets."""
        for step in self.queue[role]:
            left = step.get("times", 1)
            if (step.get("every") or left > 0) and step.get("match", "") in text:
                step["times"] = left - 1
                return step
        return self._from_name(model)

    def _from_name(self, model: str) -> Step:
        step: Step = {}
        for pair in model.split(";")[1:]:
            key, _, value = pair.partition("=")
            try:
                step[key] = json.loads(value)
            except ValueError:
                step[key] = value
        if "times" in step:
            self.seen[model] = self.seen.get(model, 0) + 1
            if self.seen[model] > step["times"]:
                return {}
        return step


def prompt_text(body: dict[str, Any]) -> str:
    """All text of a request, in any dialect."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            for item in value:
                walk(item)
        elif isinstance(value, dict):
            for key in ("content", "parts", "text", "input", "inputs", "instructions", "messages", "contents", "system",
                        "systemInstruction"):
                walk(value.get(key))

    walk(body)
    return "\n".join(found)


def usage_of(step: Step, text: str, prompt: str) -> dict[str, Any] | None:
    """Token counts for the answer, or None where the step says "none"."""
    given = step.get("usage", {})
    if given == "none":
        return None
    return {"in": max(1, len(prompt) // 4), "out": max(1, len(text) // 4), "cached": 0, "reasoning": 0, **given}


def handler(state: State, dialect: str) -> Any:
    """The endpoint of one dialect."""

    async def endpoint(request: Request) -> Response:
        body = json.loads(await request.body() or b"{}")
        model = str(body.get("model") or request.path_params.get("model", "fake"))
        role, text = ("judge" if "judge" in model else "solver"), prompt_text(body)
        step = dict(state.step(role, model, text))
        state.calls[role] = state.calls.get(role, 0) + 1
        keys = [request.headers.get(h, "") for h in ("authorization", "x-api-key", "x-goog-api-key")]
        state.journal.append({"t": time.time(), "dialect": dialect, "path": request.url.path, "model": model, "role": role,
                              "host": request.headers.get("host", ""), "key": next((k.removeprefix("Bearer ") for k in keys if k), ""), "body": body})
        await asyncio.sleep(step.get("delay", 0))
        if step.get("echo_prompt"):
            step["error"] = f"{step['error']}: {json.dumps(text)}"
        if step.get("echo_key"):
            step["error"] = f"Incorrect API key provided: {state.journal[-1]['key']}."
        if "redirect" in step:
            return Response(status_code=307, headers={"location": step["redirect"]})
        return respond(state, dialect, model, role, {**step, "stream": body.get("stream")}, text)

    return endpoint


def respond(state: State, dialect: str, model: str, role: str, step: Step, prompt: str) -> Response:
    """The response that a step asks for."""
    status = step.get("status", 200)
    if status >= 400:
        headers = {k: str(v) for k, v in step.get("headers", {}).items()}
        if "retry_after" in step:
            headers["retry-after"] = str(step["retry_after"])
        body = error_body(dialect, status, step.get("error", "scripted error"), step.get("code"))
        return Response(spoiled(body, step), status, headers, "application/json")
    if "raw" in step:
        return Response(step["raw"], step.get("status_raw", 200), media_type="application/json")
    if "error200" in step:
        return JSONResponse(error_body(dialect, step.get("code", 502), step["error200"], step.get("code", 502)))
    text = step.get("text", "true" if role == "judge" else ANSWER)
    body = BODIES[dialect](next(state.ids), model, step, text, usage_of(step, text or "", prompt))
    if dialect == "anthropic" and step.get("stream"):
        return Response(anthropic_events(body, step), media_type="text/event-stream")
    raw = spoiled(body, step).encode()
    if step.get("cut"):

        async def half() -> Any:
            yield raw[: len(raw) // 2]
            raise ConnectionResetError("scripted cut")

        return StreamingResponse(half(), headers={"content-length": str(len(raw))}, media_type="application/json")
    return Response(raw, headers=step.get("headers"), media_type="application/json")


def build_app() -> Starlette:
    """A fresh server with a state of its own (`app.state.fake`)."""
    state = State()

    async def script(request: Request) -> Response:
        for role, steps in (await request.json()).items():
            state.queue[role].extend(steps)
        return JSONResponse({})

    async def journal(request: Request) -> Response:
        return JSONResponse(state.journal)

    async def calls(request: Request) -> Response:
        return JSONResponse(state.calls)

    async def reset(request: Request) -> Response:
        state.__init__()  # type: ignore[misc]
        return JSONResponse({})

    async def models(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [{"id": "fake", "object": "model", "owned_by": "tests"}]})

    posts = [
        *((f"{prefix}/v1/chat/completions", "openai") for prefix in ("", "/api", "/openai", "/inference")),
        ("/v1/responses", "responses"), ("/v1/conversations", "mistral"),
        ("/v1/messages", "anthropic"), ("/v1beta/models/{model}:{method}", "gemini"), ("/v1/models/{model}:{method}", "gemini"),
        ("/model/{model}/converse", "bedrock"),
    ]
    routes = [Route(path, handler(state, dialect), methods=["POST"]) for path, dialect in posts]
    routes += [Route("/v1/models", models), Route("/_fake/script", script, methods=["POST"]), Route("/_fake/journal", journal),
               Route("/_fake/calls", calls), Route("/_fake/reset", reset, methods=["POST"])]
    app = Starlette(routes=routes)
    app.state.fake = state
    return app


class FakeLLM:
    """The server in a thread; `with FakeLLM() as fake: fake.url ...`."""

    def __init__(self) -> None:
        self.app = build_app()
        self.state: State = self.app.state.fake
        import socket

        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(self.app, log_level="error", timeout_graceful_shutdown=1))

    def __enter__(self) -> "FakeLLM":
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.should_exit = True
        self._thread.join(5)

    def script(self, role: str, *steps: Step) -> None:
        """Queue steps for a role."""
        self.state.queue[role].extend(dict(s) for s in steps)

    def received(self, role: str | None = None) -> list[dict[str, Any]]:
        """Requests so far, of one role or of both."""
        return [r for r in list(self.state.journal) if role in (None, r["role"])]

    def wait_for(self, requests: int, seconds: float = 60) -> None:
        """Wait until so many requests came."""
        end = time.monotonic() + seconds
        while len(self.state.journal) < requests:
            assert time.monotonic() < end, f"{len(self.state.journal)} of {requests} requests came"
            time.sleep(0.005)


if __name__ == "__main__":
    with FakeLLM() as fake:
        print(fake.url, flush=True)
        sys.stdin.read()
