"""Fixtures of the http tier: fake servers on sockets of their own."""

from collections.abc import Iterator

import pytest

from tests.http.fake_llm import FakeLLM


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    """A fresh fake LLM server."""
    with FakeLLM() as server:
        yield server
