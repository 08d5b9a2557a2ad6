"""Model card files: both forms are read by huggingface_hub, unverified, with the differences beside the score."""

import pytest
import yaml
from huggingface_hub.repocard_data import model_index_to_eval_results

from pipeline.errors import UserError
from pipeline.report.export.hf import eval_results_yaml, model_index_yaml
from pipeline.report.summary import summarise
from tests.made_runs import made_view


def test_the_hub_reads_the_eval_results_file() -> None:
    from huggingface_hub._eval_results import parse_eval_result_entries

    view = made_view(kind="hub", tasks=30, faults=0.2)
    data = eval_results_yaml(view, "https://example.org/r/p-abc")
    scored, attempted = parse_eval_result_entries(yaml.safe_load(data))
    s = summarise(view)
    assert scored.dataset_id == "OUP/l2-bench" and scored.value == pytest.approx(s.scored.value, abs=1e-6)
    assert attempted.value == pytest.approx(s.attempted.value, abs=1e-6) and attempted.value < scored.value
    assert scored.source_url == "https://example.org/r/p-abc" and scored.verify_token is None
    assert scored.notes and all(d in scored.notes for d in view.differences) and view.spec_digest in scored.notes
    assert "not verified" in scored.notes and "bedrock/us.anthropic.claude-sonnet-4-6" in scored.notes


def test_the_hub_reads_the_model_index_as_unverified() -> None:
    view = made_view(kind="hub", tasks=30)
    name, results = model_index_to_eval_results(yaml.safe_load(model_index_yaml(view))["model-index"])
    assert name == "teacher-large" and [r.verified for r in results] == [False, False]
    assert [r.metric_type for r in results] == ["l2-bench.mean", "l2-bench.mean_attempted"]
    assert results[0].dataset_type == "OUP/l2-bench" and "demo tasks, not the published set" in results[0].metric_args["notes"]


def test_demo_scores_never_name_the_published_set() -> None:
    view = made_view(tasks=5)
    entry = yaml.safe_load(eval_results_yaml(view))[0]
    assert entry["dataset"]["id"] == "l2-bench-live/demo-tasks" and "means nothing" in entry["notes"]


def test_a_run_without_any_score_is_refused_in_words() -> None:
    view = made_view(tasks=3, done=0, status="running")
    for make in (eval_results_yaml, model_index_yaml):
        with pytest.raises(UserError, match="No task"):
            make(view)


def test_words_of_the_data_cannot_break_the_file() -> None:
    view = made_view(tasks=3, differences=("a: b\n- c # d", "'x' \"y\" {z} \u2028"))
    assert "a: b\n- c # d" in yaml.safe_load(eval_results_yaml(view))[0]["notes"]
