"""What was paid for is read back whole; what left and never came back is known too."""

from pipeline.cost.usage import Usage
from pipeline.ledger import CallId, Entry, Ledger, read_ledger

CALL = CallId("judge", "7", 1, "7-01", 1)


def test_an_answer_is_found_again_with_its_usage_and_its_cost_of_zero(tmp_path):
    ledger = Ledger(tmp_path / "l.jsonl")
    ledger.sent(CALL, 1, 0.5, 900)
    ledger.came_back(Entry(CALL, 1, text="fine\ntrue", usage=Usage(10, 2, reasoning=1), cost=0.0, cost_source="free"))
    ledger.close()
    again = Ledger(tmp_path / "l.jsonl")
    entry = again.answer(CALL)
    assert entry.text == "fine\ntrue" and entry.usage == Usage(10, 2, reasoning=1) and entry.cost == 0.0
    assert again.resumed and again.next_attempt(CALL) == 2


def test_a_call_that_never_came_back_is_charged_at_its_reserve(tmp_path):
    ledger = Ledger(tmp_path / "l.jsonl")
    ledger.sent(CALL, 1, 0.5, 900)
    ledger.close()
    (entry,) = read_ledger(tmp_path / "l.jsonl")
    assert (entry.fault, entry.cost, entry.cost_source, entry.reserve_tokens) == ("interrupted", 0.5, "reserve", 900)
    assert Ledger(tmp_path / "l.jsonl").answer(CALL) is None


def test_a_line_cut_by_a_crash_loses_only_itself(tmp_path):
    path = tmp_path / "l.jsonl"
    ledger = Ledger(path)
    ledger.came_back(Entry(CALL, 1, text="true"))
    ledger.close()
    path.write_text(path.read_text() + '{"id":"j/8/1/8-0')
    again = Ledger(path)
    again.came_back(Entry(CallId("judge", "9", 1, "9-01", 1), 1, text="false"))
    again.close()
    assert [e.text for e in read_ledger(path)] == ["true", "false"]
