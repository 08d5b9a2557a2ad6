"""The order of the tiers: unit, http, real, and the browser last, since its driver keeps an event loop in the process."""

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is no fault: no example has a time of its own.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")

TIERS = ("unit", "http", "real", "ui")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by tier; the order within a tier stays."""
    items.sort(key=lambda item: next((n for n, tier in enumerate(TIERS) if f"tests/{tier}/" in item.nodeid), 0))
