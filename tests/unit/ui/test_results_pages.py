"""The result, compare, gallery and explore pages as a browser without scripts gets them."""

import re
from html import unescape
from html.parser import HTMLParser

import pytest
from starlette.testclient import TestClient

from tests.made_runs import Made, made_view
from tests.made_site import made_app, public, put_run, secret

CANARY = "zanzibar quokka nineteen lanterns drifting past"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    put_run(home, "A", Made(seed=1, tasks=40))
    put_run(home, "B", Made(seed=1, tasks=40, skill=0.6, solver="openai/other"))
    put_run(home, "C", Made(seed=1, tasks=40, skill=0.6, solver="mistral/x", judge="openai/other-judge", priced=False))
    put_run(home, "D", Made(seed=1, tasks=40, solver="acme/twin", skill=0.77))
    put_run(home, "G", Made(seed=2, tasks=12, kind="hub", faults=0), level="public", answer=CANARY)
    put_run(home, "P", Made(seed=3, tasks=1, faults=0), level="private", answer="<img src=x onerror=alert(1)>")
    put_run(home, "X", Made(seed=3, tasks=4), level="public", expires=1.0)
    put_run(home, "T", Made(seed=5, tasks=8, epochs=2, faults=0.3))
    with TestClient(made_app(home), base_url="http://testserver") as made:
        yield made


class Shape(HTMLParser):
    """Start tags of a page with their attributes; fails on a tag that is closed in the wrong order."""

    VOID = {"meta", "link", "input", "img", "br", "rect", "path", "hr"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes something else"


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


PAGES = [f"/r/{secret('A')}", f"/r/{public('A')}", f"/r/{secret('T')}?open=104", "/gallery", "/compare", "/explore",
         f"/compare?runs={public('A')},{public('B')},{public('C')}", "/explore?context=level%3DA2&solver=demo/strong"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("lang", ["en", "es", "zh-CN"])
def test_pages_hold_no_inline_script_style_or_foreign_address(client, path, lang):
    answer = client.get(path, params=None, headers={"accept-language": lang})
    assert answer.status_code == 200
    shape = Shape(answer.text)
    for tag, attrs in shape.tags:
        assert "style" not in attrs and not any(name.startswith("on") for name in attrs)
        if tag in ("script", "link", "img", "iframe"):
            assert (attrs.get("src") or attrs.get("href") or "/").startswith("/")
    assert not [t for t, _ in shape.tags if t == "style"]
    assert ("html", {"lang": lang}) in shape.tags
    ids = [a["id"] for _, a in shape.tags if "id" in a]
    assert len(ids) == len(set(ids))


def test_the_line_of_the_score_says_what_makes_it_not_comparable(client):
    html = client.get(f"/r/{public('A')}").text
    line = text_of(re.search(r'<p class="score-line">.*?</p>', html, re.S)[0])
    assert re.search(r"\d+\.\d% .*\[\d+\.\d–\d+\.\d%\] over \d+ scored tasks .* over \d+ attempted tasks", line)
    assert "demo tasks, not the published set" in line and "Not comparable" in line
    top = text_of(re.search(r'<section class="panel top".*?</section>', html, re.S)[0])
    order = [top.index(word) for word in ("openrouter/acme/teacher-large", "over", "Not comparable", "Subset", "Judge", "Date", "Spend",
                                          "Cost per task", "What does this number mean?")]
    assert order == sorted(order)


def test_result_pages_are_not_indexed(client):
    # https://github.com/promptfoo/promptfoo/issues/162: shared pages turned up in search.
    for path in (f"/r/{public('A')}", f"/r/{secret('A')}", "/r/none", f"/compare?runs={public('A')},{public('B')}",
                 f"/r/{public('A')}/charts.json", f"/r/{public('A')}/card.png"):
        answer = client.get(path)
        assert "noindex" in answer.headers["x-robots-tag"]
        if "html" in answer.headers["content-type"]:
            assert '<meta name="robots" content="noindex' in answer.text


def test_preview_tags_and_their_picture(client):
    html = client.get(f"/r/{public('A')}").text
    assert f'property="og:image" content="http://testserver/r/{public("A")}/card.png"' in html
    assert 'property="og:title"' in html and 'property="og:description"' in html
    image = client.get(f"/r/{public('A')}/card.png")
    assert image.headers["content-type"] == "image/png" and image.content[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_shared_page_never_holds_the_secret_id(client):
    for path in (f"/r/{public('A')}", "/gallery", f"/r/{public('A')}/charts.json"):
        assert secret("A") not in client.get(path).text


def test_gated_text_is_on_no_shared_page(client):
    # https://huggingface.co/datasets/OUP/l2-bench: examples of the gated set must not be published in plain text.
    for path in (f"/r/{public('G')}", f"/r/{public('G')}?open=101", f"/r/{public('G')}?part=task&open=101"):
        html = client.get(path).text
        assert CANARY not in html and "It was judged" not in html
    assert "gated" in client.get(f"/r/{public('G')}?open=101").text


def test_the_owner_of_a_gated_run_sees_its_text_on_their_own_machine_and_not_on_a_space(client, monkeypatch):
    monkeypatch.setattr("ui.results.access.tasks_of", lambda *_: None)
    assert CANARY in client.get(f"/r/{secret('G')}?open=101").text
    monkeypatch.setenv("SPACE_ID", "someone/space")
    assert CANARY not in client.get(f"/r/{secret('G')}?open=101").text


def test_model_text_is_shown_as_text(client):
    # https://github.com/Yamato-Security/senrigan/pull/54: a model's answer ran as HTML in a report.
    html = client.get(f"/r/{secret('P')}?open=101").text
    assert "&lt;img src=x onerror=alert(1)&gt;" in html and "<img src=x" not in html
    assert "It was judged." in html


def test_one_task_has_no_interval(client):
    # https://github.com/confident-ai/deepeval/pull/3077: one pass was shown as 100 % with no doubt.
    line = text_of(re.search(r'<p class="score-line">.*?</p>', client.get(f"/r/{secret('P')}").text, re.S)[0])
    assert "one task: no interval" in line and "[" not in line


def test_revoked_expired_deleted_and_never_existing_look_the_same(client):
    # https://github.com/everruns/everruns/pull/2565: expired and revoked links must not tell which they are.
    put = [client.get(f"/r/{rid}") for rid in (public("X"), public("P"), public("Z"), "nothing", secret("Z"))]
    assert {a.status_code for a in put} == {404}
    assert len({a.text for a in put}) == 1


def test_only_the_owner_sees_and_uses_the_sharing_controls(client):
    assert 'action="/r/' in client.get(f"/r/{secret('B')}").text and "/share" in client.get(f"/r/{secret('B')}").text
    assert "/share" not in client.get(f"/r/{public('B')}").text
    for action in ("share", "delete"):
        answer = client.post(f"/r/{public('B')}/{action}", data={"level": "private", "sure": "yes"})
        assert answer.status_code == 404
    assert client.get(f"/r/{public('B')}").status_code == 200


def test_sharing_expiring_revoking_and_deleting(client, tmp_path):
    home = tmp_path / "home"
    put_run(home, "S", Made(seed=9, tasks=3, faults=0), level="private")
    with TestClient(made_app(home)) as own:
        page = own.post(f"/r/{secret('S')}/share", data={"level": "public", "days": "7"})
        link = re.search(r"/r/(p-\w{20})", page.text)[1]
        assert "until 20" in page.text and own.get(f"/r/{link}").status_code == 200
        assert link not in own.get("/gallery").text
        own.post(f"/r/{secret('S')}/share", data={"level": "listed"})
        assert link in own.get("/gallery").text
        assert own.post(f"/r/{secret('S')}/share", data={"level": "public", "days": "many"}).status_code == 400
        own.post(f"/r/{secret('S')}/share", data={"level": "private"})
        assert own.get(f"/r/{link}").status_code == 404
        asked = own.post(f"/r/{secret('S')}/delete", data={})
        assert asked.status_code == 200 and "Tick the box first" in asked.text
        assert "deleted" in own.post(f"/r/{secret('S')}/delete", data={"sure": "yes"}).text
        assert own.get(f"/r/{secret('S')}").status_code == 404


def test_filters_sorting_and_pages_work_without_scripts(client):
    def keys(query: str) -> list[str]:
        return re.findall(r'data-open="([^"]+)"', client.get(f"/r/{public('A')}?{query}").text)

    plan = [t.key for t in made_view(seed=1, tasks=40).tasks]
    assert keys("") == plan[:25] and keys("page=2") == plan[25:]
    assert keys("page=99") == plan[25:] and keys("page=x&size=7&sort=nonsense") == plan[:25]
    assert keys("size=50&sort=key&dir=down") == plan[::-1]
    assert keys("competency=01.+Planning+courses") == [t.key for t in made_view(seed=1, tasks=40).tasks if t.competency[:2] == "01"]
    assert set(keys("size=50&outcome=scored")) <= set(plan)
    assert keys("q=%3Cscript%3E") == []


def test_epochs_show_spread_and_retries(client):
    # https://github.com/pinchbench/skill/issues/8: users want spread and retry counts.
    text = text_of(client.get(f"/r/{public('T')}").text)
    assert "spread between epochs" in text and "Retries" in text and "Spread" in text


def test_the_methods_box_tells_how_to_repeat_and_cite(client):
    html = client.get(f"/r/{public('A')}").text
    box = html[html.index('id="methods"'):]
    for said in ("python -m pipeline.eval --model openrouter/acme/teacher-large", "--sampling stratified", "python -m pipeline.verify",
                 "https://huggingface.co/datasets/OUP/l2-bench", "OUP/l2-bench-pipeline", "2607.08842", "CC BY-SA 4.0", "a" * 64):
        assert said in box
    others = re.findall(r'href="(https?://[^"]+)"', html)
    assert {u.split("/")[2] for u in others} <= {"huggingface.co", "arxiv.org", "creativecommons.org"}


def test_charts_are_served_and_every_one_has_a_table(client):
    html = client.get(f"/r/{public('A')}").text
    specs = client.get(f"/r/{public('A')}/charts.json").json()
    for chart in ("competency", "heat", "missed", "distribution", "cost", "outcomes", "context-0"):
        assert chart in specs
        figure = re.search(rf'<figure[^>]*id="chart-{chart}".*?</figure>', html, re.S)[0]
        assert "<table" in figure and 'class="alt"' in figure and "<details open" in figure


def test_the_comparison_says_what_cannot_be_told_apart(client):
    text = text_of(client.get(f"/compare?runs={public('A')},{public('D')}").text)
    assert "not separable" in text and "tasks in common" in text
    assert text_of(client.get(f"/compare?runs={public('A')},{public('C')}").text).count("different judges") == 1
    assert "Model by judge" in client.get(f"/compare?runs={public('A')},{public('C')}").text
    missing = client.get(f"/compare?runs={public('A')},{public('X')},nothing")
    assert missing.status_code == 404 and "2 runs are not available" in missing.text
    seven = ",".join(public(n) for n in "ABCDXYZ")
    assert "7 runs were given; the first six are shown" in client.get(f"/compare?runs={seven}").text
    twice = text_of(client.get(f"/compare?runs={public('A')},{secret('A')},{public('B')}").text)
    assert "given twice is shown once" in twice and "C − " not in twice and "A − B" in twice
    assert "given twice" in client.get(f"/compare?runs={public('A')},{public('A')}").text
    whole = f"http://testserver/r/{public('A')}?lang=es, http://testserver/r/{public('B')}"
    assert client.get("/compare", params={"runs": whole}).status_code == 200


def test_the_gallery_never_ranks_runs_of_different_judges_together(client):
    html = client.get("/gallery").text
    lists = re.findall(r'<section class="panel rank">.*?</section>', html, re.S)
    assert not [part for part in lists if "mistral/x" in part and "openai/other<" in part]
    for said in ("anthropic/claude-opus-4.7", "Community figure", "Self-judged", "none published", "85.5%"):
        assert said in html
    authors = next(part for part in lists if "claude-opus-4.7" in part)
    assert "Place" not in authors and "gemma" not in authors
    assert "mistral/x" not in client.get("/gallery?judge=us.anthropic.claude-sonnet-4-6").text
    assert "claude-opus-4.7" in client.get("/gallery?sort=model&dir=up&prompt=v1").text


def test_the_gallery_says_when_it_shows_only_the_newest_runs(client, monkeypatch):
    assert "The newest" not in client.get("/gallery").text
    monkeypatch.setattr("ui.gallery.MOST", 3)
    assert "The newest 3 are shown." in client.get("/gallery").text


def test_a_results_repo_that_does_not_answer_is_said_to_owners_and_in_the_gallery(client):
    said = "The results repo has not answered since 2026-01-01 10:00 UTC (HTTP 503). Runs are kept here and copied later."
    mirroring = client.app.state.service.mirroring
    mirroring.status = said
    try:
        assert said in client.get("/gallery").text and said in client.get(f"/r/{secret('A')}").text
        assert said not in client.get(f"/r/{public('A')}").text and said not in client.get(f"/r/{secret('P')}").text
    finally:
        mirroring.status = ""
    assert "results repo" not in client.get("/gallery").text


def test_explore_counts_filters_and_estimates(client):
    html = client.get("/explore?context=level%3DA2&solver=demo/strong&sample_limit=5").text
    text = text_of(html)
    assert "22 of 63 tasks" in text and "5 tasks of 63" in text
    link = unescape(re.search(r'href="(/\?source=demo[^"]*)"', html)[1])
    assert "context=level%3DA2" in link
    made = client.get("/explore/estimate?solver=demo/strong&context=level%3DA2").json()
    assert made["tasks"] == 22 and made["solver"]["calls"]["expected"] == 22
    assert client.post("/explore/estimate", data={"solver": "demo/strong"}).json()["tasks"] == 63
    unknown = client.get("/explore/estimate?solver=foo/unlisted-model").json()
    assert unknown["total"] is None
    assert "price unknown" in client.get("/explore?solver=foo/unlisted-model").text
    assert client.get("/explore/estimate?solver=demo/strong&competency=nonsense").status_code == 400
    assert "No task has the competency" in unescape(client.get("/explore?solver=demo/strong&competency=nonsense").text)


def test_without_access_the_gated_set_is_counts_only(client, tmp_path, monkeypatch):
    counts = tmp_path / "counts.json"
    counts.write_text('{"total": 1000, "groups": {"competency": {"01. Planning": 85}, "level": {"A2": 200}}, "task": "secret text"}')
    monkeypatch.setenv("L2BENCH_GATED_COUNTS", str(counts))
    monkeypatch.setenv("SPACE_ID", "someone/space")
    text = text_of(client.get("/explore?source=hub").text)
    assert "1000" in text and "01. Planning 85" in text and "secret text" not in text
