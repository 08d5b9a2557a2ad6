"""The pieces under the result pages: numbers as text, verdict states, rankings, figures, crossings, texts of the ledger."""

import json
import re
from pathlib import Path

import plotly.graph_objects as go
import pytest

from pipeline.data.records import Layer
from pipeline.events import PlannedCriterion
from pipeline.report.stats import Interval
from pipeline.report.summary import summarise
from pipeline.report.texts import task_texts
from pipeline.report.view import Verdict
from tests.made_runs import Made, made_view, write_run
from ui.gallery import entry_of, published_entries, rankings, record_of
from ui.results import figures
from ui.results.charts import charts, figure_specs
from ui.results.crossing import COMPETENCY, Filters, cross, overview
from ui.results.figures import label, themed
from ui.results.frame import interval_text, money, percent, points
from ui.results.head import head
from ui.results.palette import LIGHT
from ui.results.published import authors, published
from ui.results.rows import Wanted, state_of, table_page, task_rows
from ui.words import LANGUAGES, say, words

STYLE = Path(__file__).resolve().parents[3] / "assets" / "style"


def t(key, **values):
    return say(words(), key, **values)


@pytest.mark.parametrize(("value", "said"), [(None, "–"), (0.7825, "78.2%"), (1.0, "100.0%"), (-0.04, "−4.0%"), (-0.0001, "0.0%")])
def test_shares_as_text(value, said):
    assert percent(value) == said


def test_differences_intervals_and_money_as_text():
    assert points(0.0312) == "+3.1" and points(-0.0312) == "−3.1" and points(-0.0001) == "0.0"
    assert interval_text(Interval(low=0.7, high=0.8)) == "70.0–80.0%" and "to" in interval_text(Interval(low=-0.1, high=0.8))
    # https://github.com/ruvnet/agentic-flow/issues/234: an unknown price was shown as $0.
    assert money(None) == "–" and money(0) == "$0" and money(1234.5) == "$1,234.50" and money(0.00062) == "$0.0006"


@pytest.mark.parametrize(("weight", "verdict", "state"), [
    (5, True, "met"), (5, False, "unmet"), (-4, True, "penalty"), (-4, False, "avoided"), (5, None, "unread"), (-4, None, "unread")])
def test_a_state_follows_verdict_times_sign(weight, verdict, state):
    # https://github.com/ScreamingFace/screamingface/pull/619: chips were coloured by the sign of the weight alone.
    criterion = PlannedCriterion(id="1", layer=Layer.TASK, weight=weight)
    assert state_of(criterion, Verdict(verdict, verdict)) == state and state_of(criterion, None) == "none"
    assert t("result.state.penalty") == "penalty applied" and t("result.state.avoided") == "penalty avoided"


def test_a_task_without_a_score_comes_last_in_either_direction():
    rows = task_rows(made_view(seed=2, tasks=30, faults=0.4))
    for down in (False, True):
        shown = table_page(rows, Wanted(sort="score", down=down, size=100)).rows
        scores = [r.score for r in shown if r.score is not None]
        assert scores == sorted(scores, reverse=down) and [r.score for r in shown[len(scores):]] == [None] * (30 - len(scores))


def test_every_figure_is_one_that_plotly_takes_and_can_be_themed():
    for view in (made_view(seed=1), made_view(seed=2, tasks=1, faults=0), made_view(seed=3, priced=False), made_view(seed=4, faults=1.0),
                 made_view(seed=5, done=0, status="running")):
        for name, spec in figure_specs(summarise(view), t).items():
            plain = themed(spec)
            assert "var(" not in json.dumps(plain), name
            go.Figure(plain)


def test_every_colour_name_of_a_figure_is_in_the_styles():
    css = "".join((STYLE / name).read_text() for name in ("tokens.css", "results.css"))
    used = set(re.findall(r"var\((--[\w-]+)\)", json.dumps(figure_specs(summarise(made_view(seed=1)), t))))
    used |= {f"--heat-{i}" for i in range(5)} | {f"--heat-ink-{i}" for i in range(5)} | {f"--c-{i}" for i in range(1, 7)}
    assert used <= set(LIGHT) and all(f"{name}:" in css for name in used)


def test_groups_under_five_tasks_are_greyed_with_the_reason():
    view = made_view(seed=1, tasks=24)
    chart = charts(summarise(view), t)[0]
    colours = chart.spec["data"][0]["marker"]["color"]
    assert set(colours) == {"var(--cell-none)"} and "fewer than 5 tasks" in chart.alt
    assert all("fewer than 5 tasks" in row[-1].text or "one task" in row[-1].text for row in chart.rows)


def test_a_finished_run_of_small_groups_tells_its_ends_in_words():
    alt = charts(summarise(made_view(seed=1, tasks=24)), t)[0].alt
    assert "Highest: " in alt and "Lowest: " in alt and "Nothing to show" not in alt


def test_a_name_from_the_data_is_never_markup_in_a_figure():
    assert label('<b>x</b> <a href="j">') == '&lt;b&gt;x&lt;/b&gt; &lt;a href="j"&gt;'


def test_published_scores_have_no_cost_and_stand_as_lines():
    spec = next(c for c in charts(summarise(made_view(seed=1)), t) if c.id == "cost").spec
    assert len(spec["layout"]["shapes"]) == len(authors()) == 9 and len(spec["data"][0]["x"]) == 1
    unpriced = next(c for c in charts(summarise(made_view(seed=1, priced=False)), t) if c.id == "cost")
    assert unpriced.spec["data"][0]["x"] == [] and "unknown" in [c.text for c in unpriced.rows[0]]


def test_an_unknown_price_is_never_zero_on_top_of_a_page():
    facts = dict(head(made_view(seed=1, priced=False), summarise(made_view(seed=1, priced=False)), t).facts)
    assert "$0" not in facts["Spend"] and facts["Cost per task"] == "unknown"


def test_the_table_of_outcomes_tells_the_stage_of_a_fault():
    view = made_view(seed=4, faults=1.0)
    chart = next(c for c in charts(summarise(view), t) if c.id == "outcomes")
    stages = {row[0].text: row[chart.head.index("Stage")].text for row in chart.rows}
    assert stages["verdict unreadable"] == "Judge" and stages["empty answer"] == "Solver" and stages["scored"] == ""


def test_labels_on_the_cost_chart_keep_their_order_and_distance():
    places = figures._apart([0.855, 0.841, 0.834, 0.807, 0.802, 0.791, 0.788, 0.658, 0.507], 0.02)
    assert all(a - b >= 0.02 - 1e-9 for a, b in zip(places, places[1:], strict=False))
    assert abs(places[-1] - 0.507) < 1e-9


def test_overlapping_intervals_tie_and_other_judges_are_never_in_one_ranking():
    # https://github.com/ZeroLoss-Lab/ELBench: ties were shown only where rounded scores are equal.
    made = [Made(seed=1, solver="a/x"), Made(seed=1, solver="b/y"), Made(seed=1, solver="c/z", skill=0.4),
            Made(seed=1, solver="a/x", judge="other/judge"), Made(seed=1, solver="a/x", prompt="v2"), Made(seed=1, solver="a/x", tasks=39)]
    entries = [entry_of(str(i), record_of(v), summarise(v)) for i, m in enumerate(made) for v in [made_view(m)]]
    groups = rankings([*entries, *published_entries()])
    ranked = [g for g in groups if g.ranked]
    assert len(ranked) == 1 and {e.id for e in ranked[0].entries} == {"0", "1", "2"}
    places = {e.id: e.rank for e in ranked[0].entries}
    assert places["0"].tied and places["1"].tied and (places["2"].best, places["2"].worst) == (3, 3)


def test_a_run_that_did_not_finish_has_no_place_and_says_how_many_tasks_were_scored():
    made = [Made(seed=1, solver="a/x"), Made(seed=1, solver="b/y"), Made(seed=1, solver="c/z", done=9, status="interrupted")]
    entries = [entry_of(str(i), record_of(v), summarise(v)) for i, m in enumerate(made) for v in [made_view(m)]]
    (group,) = rankings(entries)
    cut = next(e for e in group.entries if e.id == "2")
    assert cut.rank is None and 0 < cut.tasks <= 9 and cut.chosen == 40
    assert {(e.rank.best, e.rank.worst) for e in group.entries if e.rank} == {(1, 2)}
    (two,) = rankings([entries[0], entries[2]])
    assert not two.ranked and len(two.entries) == 2


def test_the_published_file_is_whole_and_dated():
    assert len(published()) == 11 and all(p.source and p.url.startswith("https://") and p.date and 0 < p.score < 1 for p in published())
    assert {p.kind for p in published()} == {"published", "community", "self_judged"}


def test_texts_of_a_ledger_survive_a_cut_line_and_prefer_the_last_verdict(tmp_path):
    write_run(tmp_path, Made(seed=1, tasks=2, faults=0), answer="Answer | é")
    ledger = tmp_path / "private" / "ledger.jsonl"
    key = made_view(seed=1, tasks=2, faults=0).tasks[0].key
    base = {"role": "judge", "task": key, "epoch": 1, "criterion": f"{key}-01", "attempt": 1}
    with ledger.open("a", encoding="utf-8") as f:
        f.write(json.dumps({**base, "id": "x", "verdict_try": 2, "text": "asked again"}) + "\n")
        f.write(json.dumps({**base, "id": "y", "verdict_try": 3, "text": "", "fault": "timeout"}) + "\n" + '{"id": "z", "task": "' + key)
    texts = task_texts(ledger, key)
    assert texts[1].answer == f"Answer | é (task {key})"
    assert texts[1].judge[f"{key}-01"].text == "asked again" and len(texts[1].judge) == len(made_view(seed=1, tasks=2).tasks[0].criteria)
    assert task_texts(ledger, "no such task") == {} and task_texts(tmp_path / "none", key) == {}


def test_counts_of_the_explore_page_are_those_of_a_run():
    from pipeline.data.choose import subset
    from pipeline.data.sources import load_tasks
    from pipeline.spec import ModelSpec, Places, RunSpec

    spec = RunSpec(solver=ModelSpec(model="demo/strong"), competency=("08. Giving feedback",), context=(("level", "A2"), ("level", "B1")))
    tasks = load_tasks(spec, Places(run_dir=STYLE)).tasks
    filters = Filters(competency=spec.competency, context=spec.context)
    seen = overview(tasks, filters)
    assert [x.key for x in seen.tasks] == [x.key for x in subset(tasks, spec)]
    level = {c.name: c for c in seen.choices["level"]}
    assert level["A2"].on and level["C1"].n == sum(x.competency == "08. Giving feedback" and "C1" in x.facets["level"] for x in tasks)
    crossed = cross(tasks, COMPETENCY, "level")
    assert sum(map(sum, crossed.counts)) == len(tasks) and len(crossed.rows) == 12


@pytest.mark.parametrize("lang", list(LANGUAGES))
def test_all_words_of_these_pages_are_in_every_language(lang):
    mine = {k for k in words() if k.startswith(("result.", "gallery.", "compare.", "explore."))}
    assert mine and all(words(lang).get(k, "").strip() for k in mine)
    assert all(set(re.findall(r"\{\w+\}", words(lang)[k])) == set(re.findall(r"\{\w+\}", words()[k])) for k in mine)
