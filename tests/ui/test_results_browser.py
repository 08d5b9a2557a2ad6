"""The result pages in a real browser: charts under the strict policy, no fault, no request elsewhere, keyboard, axe."""

from xml.etree import ElementTree

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image

from tests.browser import patient
from tests.made_runs import Made
from tests.made_site import made_app, public, put_run, secret, serving

PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 800}
PATHS = {"run": f"/r/{secret('A')}?open=101", "gallery": "/gallery", "explore": "/explore?context=level%3DA2&solver=demo/strong",
         "compare": f"/compare?runs={public('A')},{public('B')},{public('C')}", "gone": "/r/nothing"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    put_run(home, "A", Made(seed=1, tasks=40))
    put_run(home, "B", Made(seed=1, tasks=40, skill=0.6, solver="openai/other"))
    put_run(home, "C", Made(seed=1, tasks=40, solver="mistral/x", judge="openai/other-judge", priced=False))
    with serving(made_app(home)) as url:
        yield url


@pytest.fixture
def visit(browser, site):
    """Opens a page; a console error, a page fault or a foreign request fails the test at its end."""
    contexts, faults = [], []

    def opened(path, viewport=DESK, scheme="light", **more):
        made = patient(browser.new_context(viewport=viewport, color_scheme=scheme, **more))
        contexts.append(made)
        page = made.new_page()
        page.on("pageerror", lambda e: faults.append(str(e)))
        page.on("console", lambda m: faults.append(m.text) if m.type == "error" and "404" not in m.text else None)
        page.on("request", lambda r: None if r.url.startswith((site, "data:", "blob:")) else faults.append(r.url))
        page.goto(site + path)
        return page

    yield opened
    for made in contexts:
        made.close()
    assert not faults


def draw_all(page):
    """Scroll to each chart in turn until it is drawn."""
    for figure in page.query_selector_all("[data-chart]"):
        figure.scroll_into_view_if_needed()
        figure.wait_for_selector(".main-svg")
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("name", list(PATHS))
def test_pages_have_no_axe_violation_and_no_sideways_scroll(visit, name, viewport, scheme):
    page = visit(PATHS[name], viewport, scheme)
    draw_all(page)
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


@pytest.mark.browser
def test_charts_follow_the_theme_and_fold_their_tables(visit):
    page = visit(PATHS["run"])
    draw_all(page)
    assert not page.query_selector_all("[data-fold][open]")
    fill = "getComputedStyle(document.querySelector('#chart-competency .bars path')).fill"
    light = page.evaluate(fill)
    page.emulate_media(color_scheme="dark")
    for _ in range(50):  # the policy forbids wait_for_function, which evaluates in the page
        if page.evaluate(fill) != light:
            break
        page.wait_for_timeout(100)
    assert page.evaluate(fill) != light


@pytest.mark.browser
def test_every_chart_is_saved_as_svg_and_png_with_what_makes_the_score_not_comparable(visit, tmp_path):
    page = visit(f"/r/{public('A')}")
    draw_all(page)
    drawn = page.locator("[data-chart]").all()
    assert len(drawn) > 6
    for figure in (drawn[0], drawn[1], drawn[-1]):
        name = figure.get_attribute("data-chart")
        for kind in ("svg", "png"):
            with page.expect_download() as got:
                figure.locator(f"[data-as={kind}]").click()
            assert got.value.suggested_filename == f"l2-bench-{name}.{kind}"
            got.value.save_as(tmp_path / f"{name}.{kind}")
        words = " ".join(ElementTree.parse(tmp_path / f"{name}.svg").getroot().itertext())
        assert "openrouter/acme/teacher-large" in words and "Not comparable" in words and "demo tasks" in words
        with Image.open(tmp_path / f"{name}.png") as image:
            assert image.width == 1600 and len(image.getcolors(1 << 24)) > 3


@pytest.mark.browser
def test_without_scripts_tables_are_open_and_rows_open_by_link(visit):
    page = visit(PATHS["gallery"], java_script_enabled=False)
    page = visit(f"/r/{public('A')}", java_script_enabled=False)
    assert page.locator("[data-fold][open] table").first.is_visible()
    page.click("[data-open='104']")
    assert page.locator("#task-104 + tr.detail").is_visible() and "open=104" in page.url


@pytest.mark.browser
def test_the_table_works_by_keyboard_and_in_place(visit):
    page = visit(f"/r/{public('A')}")
    page.evaluate("window.same = true")
    page.focus("[data-open='104']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#task-104 + tr.detail")
    assert page.evaluate("document.activeElement.dataset.open") == "104" and "open=104" in page.url
    page.select_option("select[name=sort]", "score")
    page.focus(".filters button")
    page.keyboard.press("Enter")
    page.wait_for_selector("th[aria-sort=ascending] >> text=Score")
    assert page.evaluate("window.same")


@pytest.mark.browser
def test_the_owner_shares_and_revokes_with_the_keyboard(visit, site):
    page = visit(f"/r/{secret('B')}")
    page.check("input[value=public]")
    page.focus(".share form .primary")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Public link")
    link = page.input_value("#public")
    assert link.startswith(site + "/r/p-")
    page.click("text=Revoke the link")
    page.wait_for_selector("text=Only with the secret run link.")
    assert page.locator("#public").count() == 0
    assert visit(link.removeprefix(site)).title().startswith("This run is not available")
