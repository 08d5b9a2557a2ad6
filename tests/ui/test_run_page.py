"""What the run page promises, in a real browser on the demo tasks."""

import json
import re
import urllib.request
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.ui.conftest import Served, choose, press_run, ready

KEY = "sk-or-v1-canary0123456789abcdefcanary0123456789abcdef"


def done(page: Page) -> int:
    """Tasks that the live view shows as ended."""
    text = page.inner_text("[data-done]")
    return int(text.split(" of ")[0]) if " of " in text else 0


def finished(page: Page, tasks: int = 20) -> None:
    """Wait for the end of the run in the live view, with all its tasks drawn."""
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "finished")
    expect(page.locator("[data-done]")).to_contain_text(f"{tasks} of {tasks} ")


def test_a_first_visitor_presses_run_without_a_key_and_sees_every_verdict(
    open_page: Callable[..., Page], app: Served
) -> None:
    page = open_page()
    run = press_run(page)
    finished(page)
    assert "20 of 20" in page.inner_text("[data-done]")
    with urllib.request.urlopen(f"{app.url}/api/runs/{run}/plan") as reply:
        plan = json.load(reply)
    planned = sum(len(task[4]) for task in plan["tasks"])
    assert f"{planned} verdicts" in page.inner_text("[data-done]").replace(",", "")
    assert re.fullmatch(r"\d+\.\d%", page.inner_text("[data-mean]"))
    assert "Not comparable" in page.inner_text("[data-differences-line]")
    assert page.locator("[data-feed] tr").count() == 12


def test_a_run_goes_on_when_the_tab_closes_and_its_link_shows_it_whole(
    open_page: Callable[..., Page], app: Served
) -> None:
    # https://github.com/gradio-app/gradio/issues/13584: a closed tab ended the job and nothing could be found again.
    page = open_page()
    run = press_run(page)
    page.wait_for_function("document.querySelector('[data-done]')?.textContent.match(/^[1-9]/)")
    half = done(page)
    page.close()
    again = open_page(f"/?run={run}")
    finished(again)
    assert half < 20 and done(again) == 20
    again.reload()
    finished(again)
    assert done(again) == 20


def stopped_early(open_page: Callable[..., Page]) -> Page:
    """The live page of a run of 63 tasks that was stopped after its first ones."""
    page = open_page()
    ready(page)
    page.fill("#sample-limit input[type=number]", "63")
    page.keyboard.press("Tab")
    expect(page.locator("#estimate")).to_contain_text("63 tasks")
    press_run(page)
    page.wait_for_function("document.querySelector('[data-done]')?.textContent.match(/^[1-9]/)")
    page.click("[data-stop]")
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "stopped")
    return page


def test_stop_ends_the_run_and_go_on_continues_it(open_page: Callable[..., Page]) -> None:
    page = stopped_early(open_page)
    assert done(page) <= 63
    page.click("[data-resume]")
    page.click("[data-resume-form] button[type=submit]")
    finished(page, 63)
    scored = page.locator("[data-outcomes] dd").first
    expect(scored).to_have_text("63")


def test_a_pilot_pauses_after_five_tasks_and_goes_on_when_asked(open_page: Callable[..., Page]) -> None:
    page = open_page()
    ready(page)
    page.click("#pilot-button")
    expect(page.locator("[data-status]")).to_have_attribute("data-status", "paused")
    assert done(page) == 5
    page.click("[data-resume]")
    page.click("[data-resume-form] button[type=submit]")
    finished(page)
    assert done(page) == 20


def test_the_estimate_follows_a_change_of_the_form(open_page: Callable[..., Page]) -> None:
    page = open_page()
    ready(page)
    expect(page.locator("#estimate")).to_contain_text("20 tasks of 63")
    page.evaluate("""() => new Promise((done) => {
      window.seen = 0;
      new MutationObserver(() => { if (document.querySelector('#estimate').textContent.includes('7 tasks of')) window.seen ||= performance.now() - window.began; })
        .observe(document.querySelector('#estimate'), {childList: true, subtree: true, characterData: true});
      const input = document.querySelector('#sample-limit input[type=number]');
      input.value = '7'; window.began = performance.now();
      input.dispatchEvent(new Event('input', {bubbles: true})); input.dispatchEvent(new Event('change', {bubbles: true})); input.blur(); done();
    })""")
    page.wait_for_function("window.seen > 0")
    # 300 ms on a machine of its own; the tests share two cores.
    assert page.evaluate("window.seen") < 1500


def test_run_is_off_with_a_sentence_until_a_key_is_there(open_page: Callable[..., Page]) -> None:
    page = open_page()
    ready(page)
    choose(page, "#solver-provider", "OpenAI")
    expect(page.locator("#why")).to_contain_text("Choose the model to test")
    choose(page, "#solver-model", "someone/odd:free")
    expect(page.locator("#why")).to_contain_text("Enter a key for OpenAI")
    expect(page.locator("#run-button")).to_be_disabled()
    assert page.input_value("#solver-model input") == "someone/odd:free"
    assert page.input_value("#judge-provider input") == "OpenAI"


def test_a_key_is_nowhere_in_the_browser_after_it_was_given(open_page: Callable[..., Page], app: Served) -> None:
    # https://github.com/gradio-app/gradio/pull/13718: run history kept every input, keys too, in the browser's storage.
    page = open_page()
    ready(page)
    choose(page, "#solver-provider", "OpenRouter")
    page.fill("#key-solver-openrouter-api_key", KEY)
    page.click("[data-card='solver/openrouter'] button[type=submit]")
    expect(page.locator("[data-card='solver/openrouter'] [data-said]")).to_contain_text("ends in cdef")
    kept = page.evaluate("""() => [JSON.stringify(localStorage), JSON.stringify(sessionStorage), document.cookie, document.documentElement.outerHTML,
      ...[...document.querySelectorAll('input, textarea')].map((i) => i.value)].join('\\n')""")
    cookies = json.dumps(page.context.cookies())
    assert KEY not in kept and KEY not in cookies and KEY[:20] not in kept
    assert KEY.encode() not in b"".join(p.read_bytes() for p in app.home.rglob("*") if p.is_file())
    page.click("[data-card='solver/openrouter'] [data-forget]")
    expect(page.locator("[data-card='solver/openrouter'] [data-said]")).to_contain_text("forgotten")


def test_a_key_with_a_blank_inside_is_refused_and_not_repeated(open_page: Callable[..., Page]) -> None:
    page = open_page()
    ready(page)
    choose(page, "#solver-provider", "OpenAI")
    page.fill("#key-solver-openai-api_key", "sk-canary abcdefgh")
    page.click("[data-card='solver/openai'] button[type=submit]")
    said = page.locator("[data-card='solver/openai'] [data-said]")
    expect(said).to_contain_text("blank")
    assert "canary" not in said.inner_text()


def test_my_runs_lists_the_run_with_its_state_and_stores_only_its_link(open_page: Callable[..., Page]) -> None:
    # https://github.com/DrewThomasson/ebook2audiobook/issues/207: after a reload a user could not find a running job.
    page = open_page()
    run = press_run(page)
    finished(page)
    page.reload()
    page.get_by_role("tab", name="My runs").click()
    row = page.locator(f"[data-mine] tr[data-id='{run}']")
    expect(row).to_contain_text("finished")
    stored = page.evaluate("JSON.stringify(localStorage)")
    assert run in stored and set(json.loads(json.loads(stored)["l2bench-runs"])[0]) == {"id", "title", "started"}


def test_runs_chosen_in_my_runs_are_compared(open_page: Callable[..., Page]) -> None:
    page, runs = open_page(), []
    for model in ("strong", "weak"):
        page.get_by_role("tab", name="Run", exact=True).click()
        choose(page, "#solver-model", model)
        runs.append(press_run(page))
        finished(page)
        page.goto(page.url.split("?")[0])
        ready(page)
    page.get_by_role("tab", name="My runs").click()
    go = page.locator("[data-compare-go]")
    for run in runs:
        expect(go).to_be_disabled()
        page.check(f"[data-mine] tr[data-id='{run}'] [data-pick]")
    go.click()
    expect(page.locator("main")).to_contain_text("tasks in common")
    assert all(f"/r/{run}" in page.content() for run in runs)



def test_every_outcome_is_shown_by_its_word(open_page: Callable[..., Page]) -> None:
    page = open_page()
    ready(page)
    choose(page, "#solver-model", "faulty")
    press_run(page)
    expect(page.locator("[data-done]")).to_contain_text("20 of 20 ")
    expect(page.locator("[data-status]")).not_to_have_attribute(
        "data-status", re.compile("running|starting")
    )
    names = page.locator("[data-outcomes] dt").all_inner_texts()
    counts = [int(n) for n in page.locator("[data-outcomes] dd").all_inner_texts()]
    ended = [n for name, n in zip(names, counts, strict=True) if "cut" not in name or "before" in name]
    assert sum(ended) == 20 and len(names) >= 4
    assert {"empty answer", "stopped by a filter"} <= set(names)


def test_a_link_to_a_run_that_never_was_says_so(open_page: Callable[..., Page]) -> None:
    page = open_page("/?run=AAAAAAAAAAAAAAAAAAAAAAAAAA")
    expect(page.locator("[data-empty]")).to_contain_text("not available")


def test_a_hidden_tab_lets_its_stream_go_and_takes_it_up_again(open_page: Callable[..., Page]) -> None:
    page = open_page()
    press_run(page)
    page.wait_for_function("window.l2live?.model?.done > 0")
    hide = "(v) => { Object.defineProperty(document, 'hidden', {get: () => v, configurable: true}); document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(hide, True)
    assert page.evaluate("window.l2live.source === null")
    page.evaluate(hide, False)
    finished(page)
    assert done(page) == 20


def test_a_link_carries_filters_into_the_form(open_page: Callable[..., Page]) -> None:
    page = open_page("/?source=demo&competency=01.+Planning+courses&competency=02.+Planning+lessons&context=level%3DA2")
    ready(page)
    shown = page.locator("#tasks")
    for text in ("01. Planning courses", "02. Planning lessons", "level: A2"):
        expect(shown).to_contain_text(text)
    expect(page.locator("#estimate")).not_to_contain_text("20 tasks")


def test_presets_fill_the_form(open_page: Callable[..., Page]) -> None:
    page = open_page()
    ready(page)
    page.click("#preset-competency")
    expect(page.locator("#competency")).to_contain_text("01. ")
    expect(page.locator("#estimate")).not_to_contain_text("20 tasks of")
    page.click("#preset-learners")
    expect(page.locator("#context")).to_contain_text(": ")
    page.click("#preset-demo")
    expect(page.locator("#estimate")).to_contain_text("20 tasks of")
    ready(page)


def test_a_finished_run_is_given_more_tasks_with_the_price_told_before(open_page: Callable[..., Page]) -> None:
    page = open_page()
    press_run(page)
    finished(page)
    page.click("[data-more]")
    page.fill("[data-more-tasks]", "25")
    expect(page.locator("[data-more-price]")).to_contain_text("New: 5 task runs, cost: free")
    page.click("[data-resume-form] button[type=submit]")
    finished(page, 25)
    expect(page.locator("[data-differences]")).to_contain_text("tasks added after results were seen: 20 → 25")


def test_a_stopped_run_shows_how_far_it_came_and_no_task_that_never_began(open_page: Callable[..., Page]) -> None:
    # R6: "63 of 63 tasks ended", a full bar, and a feed of cancelled rows
    page = stopped_early(open_page)
    expect(page.locator("[data-mean-more]")).to_contain_text(" of 63, stopped")
    assert done(page) < 63 and int(page.get_attribute("[data-progress]", "aria-valuenow") or 100) < 100
    assert "cancelled" not in page.inner_text("[data-feed]")
