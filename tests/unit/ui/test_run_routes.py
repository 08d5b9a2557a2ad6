"""Going on with a run from the page: keys of this session, the providers' own prices, the address checked anew."""

from types import SimpleNamespace
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from runner.providers.models import ModelInfo, ModelList, ModelLists
from runner.vault import Vault
from ui import run_routes, visitor
from ui.keys import KeyRing

PRICING = {"prompt": "0.000001", "completion": "0.000002"}


class Service:
    """Stands where the run service does; keeps what it was asked."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec, self.asked = spec, []

    async def open(self) -> None:
        pass

    def get(self, rid: str, user: Any) -> Any:
        return SimpleNamespace(owner=True, holder=True, key="k", meta=SimpleNamespace(source="demo"))

    async def watch(self, key: str) -> Any:
        return SimpleNamespace(folded=SimpleNamespace(view=SimpleNamespace(spec=self.spec)))

    async def resume(self, *args: Any) -> None:
        self.asked.append(args)


class Lists(ModelLists):
    """A list with one model."""

    async def get(self, entry: Any, fields: Any = None) -> ModelList:
        return ModelList("openrouter", (ModelInfo("new/model", pricing=PRICING),), "live", "2026-01-01")


def client(spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch, **fields: str) -> tuple[TestClient, Service]:
    monkeypatch.setattr(visitor, "session_of", lambda cookies: "me")
    monkeypatch.setattr(visitor, "hf_user", lambda request: None)
    monkeypatch.setattr(visitor, "hf_token", lambda request: None)
    ring, service = KeyRing(Vault()), Service(spec)
    from runner.providers.catalogue import provider

    if fields:
        ring.put("me", "solver", provider(fields.pop("of")), fields)
    return TestClient(Starlette(routes=run_routes.routes(service, ring, Lists(), lambda *_: {}))), service  # type: ignore[arg-type]


def test_the_price_that_only_the_providers_list_knows_is_there_when_a_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the price is unknown, and a run under a cap in money could not go on."""
    spec = {"solver": {"model": "openrouter/new/model"}, "judge": {"model": "openrouter/new/model"}}
    page, service = client(spec, monkeypatch, of="openrouter", api_key="sk-or-canary-0001112223")
    assert page.post("/live/abc/resume", json={"max_cost": 2}).status_code == 200
    assert service.asked[0][5]["new/model"]["pricing"] == PRICING and service.asked[0][2] == {"pilot": False, "max_cost": 2}


def test_an_endpoint_whose_name_turned_private_is_refused_when_a_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("L2BENCH_ALLOW_CUSTOM_URL", raising=False)
    spec = {r: {"model": "openai-api/custom/m", "base_url": "http://127.0.0.1:9/v1"} for r in ("solver", "judge")}
    page, service = client(spec, monkeypatch)
    answer = page.post("/live/abc/resume", json={})
    assert answer.status_code == 400 and not service.asked


@pytest.mark.parametrize("cap", [-1, "1", True, 1e15, [1]])
def test_a_limit_that_is_none_is_refused_when_a_run_goes_on(monkeypatch: pytest.MonkeyPatch, cap: Any) -> None:
    spec = {r: {"model": "demo/strong"} for r in ("solver", "judge")}
    page, service = client(spec, monkeypatch)
    assert page.post("/live/abc/resume", json={"max_cost": cap}).status_code == 400 and not service.asked
