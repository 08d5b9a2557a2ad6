"""The order of the tiers: unit, http, real, and the browser last, since its driver keeps an event loop in the process."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from pipeline.core.text import safe_text

# A busy machine is no fault: no example has a time of its own.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")

TIERS = ("unit", "http", "real", "ui")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort by tier, and in a tier the longest files first, so that workers who take whole files end together; the order
    within a file stays.
    """

    def place(item: pytest.Item) -> tuple[int, int, str]:
        tier = next((n for n, name in enumerate(TIERS) if f"tests/{name}/" in item.nodeid), 0)
        return tier, -item.path.stat().st_size, str(item.path)

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure that shows half a character would end the whole run: a worker cannot send its report."""
    report = yield
    report.sections = [(name, safe_text(text)) for name, text in report.sections]
    if report.longrepr is not None and not isinstance(report.longrepr, tuple) and safe_text(text := str(report.longrepr)) is not text:
        report.longrepr = safe_text(text)
    return report
