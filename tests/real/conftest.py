"""A real small model on a socket of its own, for one session of tests."""

from collections.abc import Iterator

import pytest

from runner.local_model import LocalModel


@pytest.fixture(scope="session")
def tiny() -> Iterator[LocalModel]:
    """SmolLM2 in llama.cpp's server; `tiny.start()` is its base URL."""
    model = LocalModel()
    model.start()
    yield model
    model.stop()
