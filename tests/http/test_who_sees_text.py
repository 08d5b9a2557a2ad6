"""Every kind of visitor at every route of results and downloads, on a Space and on one's own machine: who gets text, who none."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.testclient import TestClient

from runner import api, gate
from runner.gate import Account, GateState, Texts
from runner.service import RunService
from runner.sharing import key_of, owner_digest
from runner.store import _salt
from tests.made_runs import Made
from tests.made_site import IDLE, public, put_run, secret
from ui import downloads, run_routes
from ui import results as pages

ANSWER, LOG = "zanzibar quokka nineteen lanterns drifting past", "CANARYEVAL of the run"
RUNS = {"D": ("demo", True), "H": ("hub", True), "L": ("local", True), "E": ("demo", False), "I": ("hub", False), "M": ("local", False)}
TASK = "101"


class Hub:
    """The gate's answer by account."""

    def check(self, account: Account | None, fresh: bool = False) -> GateState:
        return GateState("open" if account and account.token == "opens" else "no_access", "")


def account_of(request: Any) -> Account | None:
    who, opens = request.headers.get("x-who"), request.headers.get("x-opens", "")
    return Account(who, who, opens) if who else None


@dataclass(frozen=True)
class Visitor:
    """Which id they know, and who they are signed in as."""

    knows: str
    who: str = ""
    opens: bool = True

    def rid(self, run: str) -> str:
        return {"public": public(run), "secret": secret(run), "key": key_of(secret(run))}[self.knows]

    @property
    def headers(self) -> dict[str, str]:
        return {"x-who": self.who, "x-opens": "opens" if self.opens else "closed"} if self.who else {}


VISITORS = {
    "a stranger with the public link": Visitor("public"), "a stranger who guesses the folder": Visitor("key"),
    "a holder of the secret link": Visitor("secret"), "another account with the public link": Visitor("public", "other"),
    "another account with the secret link": Visitor("secret", "other"), "the owner, signed in": Visitor("secret", "owner"),
    "the owner by account alone": Visitor("key", "owner"), "the owner by the public link": Visitor("public", "owner"),
    "the owner without access now": Visitor("secret", "owner", opens=False),
    "the owner without access now, by account": Visitor("key", "owner", opens=False),
}
MINE = {"the owner, signed in", "the owner by account alone", "the owner by the public link"}
LOST = {"the owner without access now", "the owner without access now, by account"}
OPENS = set(VISITORS) - {"a stranger who guesses the folder"}

LINK = {v for v in OPENS if "secret" in v or "owner" in v}

# (on a Space, run) -> who sees text on the page, who gets the log. D, H and L are bound to an account.
WHO: dict[tuple[bool, str], tuple[set[str], set[str]]] = {
    (True, "D"): (OPENS, MINE | LOST), (True, "H"): (MINE, MINE), (True, "L"): (MINE, MINE),
    (True, "E"): (OPENS, LINK), (True, "I"): (set(), set()), (True, "M"): (set(), set()),
    (False, "E"): (OPENS, LINK), (False, "I"): (LINK, LINK), (False, "M"): (LINK, LINK),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    home: Path = tmp_path_factory.mktemp("home")
    service = RunService(home, engine_command=IDLE)
    mine = owner_digest(_salt(home / "salt"), "owner")
    for name, (source, bound) in RUNS.items():
        folder = put_run(home, name, Made(seed=2, tasks=4, kind=source, faults=0), answer=ANSWER, owner=mine, bound=bound)
        (folder / "private" / "a.eval").write_text(LOG)

    def viewer(request: Request) -> str | None:
        found = account_of(request)
        return found.id if found else None

    texts = Texts(Hub(), account_of)  # type: ignore[arg-type]
    routes = [*pages.routes(service, texts, lambda *_: None, viewer=viewer), *downloads.routes(service, viewer, texts),
              *api.routes(service, viewer)]
    with TestClient(Starlette(routes=routes)) as made:
        yield made


def addresses(rid: str, whole: bool) -> Iterator[str]:
    """Every address of a run, or those where text may stand; the rest is made from the journal and is slow to make."""
    yield from (f"/r/{rid}?open={TASK}", f"/r/{rid}?open={TASK}&part=task", f"/r/{rid}/download/run.eval", f"/r/{rid}/download/eval",
                f"/api/runs/{rid}")
    if whole:
        yield from (f"/r/{rid}", f"/r/{rid}?part=tasks&open={TASK}", f"/r/{rid}?part=top", f"/r/{rid}/charts.json", f"/r/{rid}/card.png",
                    f"/compare?runs={rid}", f"/compare/charts.json?runs={rid}", "/gallery", f"/api/runs/{rid}/plan")
        yield from (f"/r/{rid}/download/{name}" for name in (*downloads.NAMES, *downloads.ALSO))


WHOLE = ("a stranger with the public link", "another account with the secret link")


@pytest.mark.parametrize(("hosted", "run"), list(WHO))
def test_text_reaches_those_that_the_table_names_and_nobody_else(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, run: str, hosted: bool
) -> None:
    monkeypatch.setenv("SPACE_ID", "me/x") if hosted else monkeypatch.delenv("SPACE_ID", raising=False)
    # A Space's own copy of the gated set is not what is looked at here, but who is let near the run's record.
    monkeypatch.setattr("ui.results.access.tasks_of", lambda *_: {})
    seen, taken = set(), set()
    for name, visitor in VISITORS.items():
        for path in addresses(visitor.rid(run), name in WHOLE):
            got = client.get(path, headers=visitor.headers).content
            if ANSWER.encode() in got:
                assert f"open={TASK}" in path, path
                seen.add(name)
            if LOG.encode() in got:
                assert path.endswith(("/run.eval", "/eval")), path
                taken.add(name)
        offered = b"download/run.eval" in client.get(f"/r/{visitor.rid(run)}", headers=visitor.headers).content
        assert offered is (name in taken), "the page offers what the download gives"
    assert (seen, taken) == WHO[hosted, run]


@pytest.mark.parametrize("build", [
    lambda service: pages.routes(service), lambda service: pages.routes(service, kept_tasks=lambda *_: None),
    lambda service: pages.routes(service, Texts(Hub(), account_of)), lambda service: downloads.routes(service),
    lambda service: downloads.routes(service, account_of), lambda service: run_routes.routes(service, None, None), lambda _: Texts(Hub()),
    lambda _: Texts(Hub(), account_of).allow(None, None), lambda _: gate.may_see(None, None, None),
])
def test_no_route_can_be_built_without_the_rule(build: Any) -> None:
    # Left out, the rule of a page was a weaker one: any signed-in token opened a gated run's text.
    with pytest.raises(TypeError, match="missing"):
        build(object())


def test_what_gives_text_out_is_called_where_the_rule_is_asked_and_nowhere_else() -> None:
    root = Path(pages.__file__).parents[2]
    users: dict[str, set[str]] = {"task_texts(": set(), "tasks_of(": set(), "newest_log(": set(), '/ "private"': set(), "may_see(": set()}
    for path in [*root.glob("ui/**/*.py"), *root.glob("runner/**/*.py")]:
        text = path.read_text(encoding="utf-8")
        for word, found in users.items():
            if word in text:
                found.add(path.relative_to(root).as_posix())
    assert users["task_texts("] == {"ui/results/run_page.py"} and users["newest_log("] == {"ui/downloads.py"}
    assert users["tasks_of("] == {"ui/results/access.py", "ui/results/run_page.py"} and users["may_see("] == {"runner/gate.py"}
    assert {p for p in users['/ "private"'] if p.startswith("ui/")} == {"ui/downloads.py", "ui/results/run_page.py"}
