"""Whatever a provider, a tasks file or the form sends can be classified, written, printed, journaled and shown."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.core.json_in import FROM_PROVIDER, read_json
from pipeline.cost.price_sources import read_live
from pipeline.data.check import read_files
from pipeline.data.facets import parse_variables
from pipeline.data.read import KNOWN_COLUMNS
from pipeline.errors import UserError
from pipeline.events import PlannedCriterion, PlannedTask, to_line
from pipeline.faults import Exchange, Redactor, classify
from pipeline.judging.published import constants
from pipeline.replies import provider_words, signs, wait_asked
from pipeline.reported import reported_cost, reported_usage
from pipeline.spec import RunSpec
from pipeline.wire import content_with_think, without_odd_usage
from runner.providers import check
from runner.providers.calls import Route
from runner.providers.catalogue import PROVIDERS
from runner.providers.models import ModelList, gone, read_list, search
from runner.providers.probe import _answered, _ended
from runner.providers.wire import Reply
from ui.form import ADVANCED, FIELDS, Keys, spec_of, values_of, why_not
from ui.start import _pydantic
from ui.words import words

ODD = st.text(st.characters() | st.sampled_from("\x00\x1b\x07\x85\x9b\ud83d\udc00\udcff\ufffe\u2028\u202e"), max_size=12)
NAMES = st.sampled_from(["error", "message", "detail", "code", "type", "status", "usage", "usageMetadata", "prompt_tokens", "completion_tokens", "total_tokens",
                         "inputTokens", "outputTokens", "input_tokens", "output_tokens", "cost", "cost_details", "is_byok", "choices", "finish_reason",
                         "content", "metadata", "raw", "headers", "details", "retryDelay", "retry_after", "loc", "msg", "prompt_tokens_details", "data",
                         "models", "id", "name", "pricing", "prompt", "completion", "overrides", "min_prompt_tokens", "aliases", "context_length",
                         "balance_infos", "currency", "total_balance", "limit_remaining", "limit", "free_model_daily_requests", "remaining", "auth",
                         "accessToken", "role", "fineGrained", "modelSummaries", "outputModalities", "capabilities", "inferenceTypesSupported"])
LEAF = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | ODD | st.sampled_from(
    ["nan", "inf", "1e999", "-1", "429", 429, "rate_limit_error", "9" * 400, 1e308, "1e999999", "in 5m", "Mon, 99 Foo 2026"])
BODY = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | ODD, inner, max_size=5), max_leaves=25)
RELAXED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def taken(value: Any) -> Any:
    """The value as it comes in from a provider."""
    from pipeline.core.json_in import BadJson

    try:
        return read_json(json.dumps(value).encode(), FROM_PROVIDER)
    except BadJson:
        return None


def sayable(*texts: str) -> None:
    for text in texts:
        assert text.encode() is not None and not any(c in text for c in "\x1b\x00\x07\x9b")


@RELAXED
@given(BODY, st.sampled_from([None, 200, 301, 400, 401, 402, 403, 404, 413, 422, 429, 500, 529, 599]), st.dictionaries(
    st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset-tokens", "x-amzn-errortype", "ratelimit"]), ODD | st.sampled_from(["1e999", "nan", "9" * 400]), max_size=3))
def test_a_reply_of_any_shape_is_classified(value: Any, status: int | None, headers: dict[str, str]) -> None:
    body = taken(value)
    fault = classify(Exchange(status, headers, body), None, Redactor(["sk-canary-0001"]))
    sayable(fault.sentence, provider_words(body), signs(body))
    assert fault.kind and (fault.wait is None or 0 <= fault.wait < 1e9)
    wait_asked(headers, provider_words(body), body)
    usage, cost = reported_usage(body), reported_cost(body)
    assert usage is None or min(usage.input, usage.output, usage.cache_read) >= 0
    assert cost is None or 0 <= cost < float("inf")
    without_odd_usage(body)
    content_with_think(body)


@RELAXED
@given(BODY, st.sampled_from([200, 400, 404, 429]), st.sampled_from([p for p in PROVIDERS if p.listing or p.check]))
def test_an_answer_to_a_key_check_or_a_list_of_any_shape_has_a_sentence(value: Any, status: int, entry: Any) -> None:
    body = taken(value)
    reply = Reply(status, {}, body, json.dumps(value).encode())
    where = Route(entry, {}, "https://example.org/v1", "")
    found = check._refusal(where, reply) or check._READERS[entry.reader](where, reply)
    sayable(found.sentence)
    _answered(entry, reply)
    _ended(where, "m", reply)
    for model in (read_list(entry.listing, reply) or ()) if entry.listing else ():
        sayable(model.id, model.name, *model.aliases)
        read_live({"pricing": dict(model.pricing)})
    listed = ModelList(entry.id, tuple(read_list(entry.listing, reply) or ()) if entry.listing else (), "live", "")
    sayable(*search(listed, "claude"), gone(listed, "a-model", entry))
    if isinstance(body, dict):
        read_live(body)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.sampled_from(KNOWN_COLUMNS) | ODD, ODD | st.sampled_from(
    ["01. Names =\u200b=5", '{"level": "\\ud83d\\u001b[31m"}', "{'a\\ud83d': '\\x00'}", "a%00b%ED%A0%BD.txt", "../\x1b.txt", "01. Names it clearly ==5", "1"]), max_size=12),
    st.sampled_from(["utf-8", "utf-16", "surrogates", "latin-1"]))
def test_a_tasks_file_of_any_cells_is_read_or_refused(tmp_path: Path, row: dict[str, str], how: str) -> None:
    (tmp_path / "resources").mkdir(exist_ok=True)
    whole = {"task_key": "1", "competency": "A", "task": "Plan.", "task_criteria": "01. Names it clearly ==5", "reference_answer": "R", **row}
    out = io.StringIO()
    writer = csv.DictWriter(out, list(whole), quoting=csv.QUOTE_ALL)
    writer.writeheader()
    writer.writerow(whole)
    text = out.getvalue()
    raw = text.encode("utf-8", "surrogatepass") if how in ("utf-8", "surrogates") else text.encode(how, "replace")
    path = tmp_path / "tasks.csv"
    path.write_bytes(raw)
    try:
        checked = read_files(path, tmp_path / "resources")
    except UserError as error:
        str(error).encode()
        return
    for problem in checked.built.problems:
        problem.line.encode()
    for task in checked.built.tasks:
        planned = PlannedTask(key=task.key, competency=task.competency, subcompetencies=task.subcompetencies, facets=task.facets, criteria=tuple(
            PlannedCriterion(c.id, c.layer, c.weight) for c in task.criteria))
        assert planned.model_dump_json().encode()
        for text in (task.text, task.reference_answer, task.system_prompt, *(r.name + r.text for r in task.resources), *(c.description for c in task.criteria)):
            text.encode()


@given(ODD, ODD)
def test_facets_are_safe_text_whatever_the_cell_holds(key: str, value: str) -> None:
    for cell in (f"{key}: {value}", json.dumps({key: value}), repr({key: value}), repr([(key, value)])):
        for name, values in (parse_variables(cell) or {}).items():
            sayable(name, *values)


def test_a_prompt_with_half_a_character_is_mended() -> None:
    (found,) = constants("a.py", 'V1 = "judge \\ud83d {task_text}"')
    assert found.text == "judge \ufffd {task_text}"


KINDS = ODD | st.none() | st.booleans() | st.integers() | st.floats() | st.lists(ODD, max_size=2) | st.dictionaries(ODD, ODD, max_size=1) | st.sampled_from(
    ["demo", "strong", "openai", "1e999", "0,5", "x" * 100_000, '["a", "\\ud83d"]', "[" * 3000, "a=b", "local", "hub", "stratified"])


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), KINDS, max_size=8))
def test_a_form_of_any_values_is_a_run_that_can_be_written_or_a_sentence(given_: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"source": "demo", "solver_provider": "demo", "solver_model": "strong", "judge_provider": "demo", "judge_model": "judge",
                             "competency": [], "subcompetency": [], "context": [], "sample_limit": 5, "sampling": "stratified", "seed": 0, "max_cost": "",
                             "cap_auto": True, **{s.name: s.default for s in ADVANCED}}
    try:
        values = values_of(tuple({**plain, **given_}[name] for name in FIELDS))
        sayable(why_not(values, Keys(), words()))
        spec = spec_of(values, Keys())
    except (UserError, ValidationError) as error:
        sayable(str(error) if isinstance(error, UserError) else _pydantic(error))
        return
    assert RunSpec.model_validate_json(spec.canonical()) == spec and spec.digest
    spec.canonical().encode()


def test_a_journal_takes_only_times_that_are_times() -> None:
    from pipeline.events import Connections

    assert to_line(Connections(t=1.0, limit=1))
    for t in (float("nan"), float("inf"), -1.0, 1e300):
        with pytest.raises(ValueError):
            Connections(t=t, limit=1)
