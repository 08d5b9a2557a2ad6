"""The one reader for JSON from outside."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.json_in import FROM_BROWSER, FROM_PROVIDER, BadJson, Bounds, read_json
from pipeline.core.text import safe_text

REFUSED = {
    "deep list": "[" * 100_000 + "]" * 100_000, "deep object": '{"a":' * 5000 + "1" + "}" * 5000, "33 levels": "[" * 34 + "]" * 34,
    "many": json.dumps([0] * 20_001), "twice": '{"a": 1, "a": 2}', "twice inside": '[{"b": {"a": 1, "a": 1}}]', "nan": '{"a": NaN}',
    "infinity": "[-Infinity]", "1e999": "[1e999]", "digits": "1" * 5000, "half": '"\\ud83d"', "half name": '{"\\udc00": 1}',
    "nul": '"\\u0000"', "empty": "", "words": "hello", "two": "1 2", "large": '"' + "a" * 1_000_001 + '"', "cut": '{"a": [1',
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_could_mean_two_things_or_cost_without_end_is_refused_in_a_sentence(text):
    with pytest.raises(BadJson) as refused:
        read_json(text.encode(), FROM_BROWSER)
    assert str(refused.value).endswith(".") and len(str(refused.value)) < 120


def test_bytes_that_are_no_utf8_are_refused():
    with pytest.raises(BadJson):
        read_json(b'"\xff"', FROM_BROWSER)


def test_half_a_character_of_a_provider_is_replaced():
    assert read_json(b'{"text": "A\\ud83d end", "\\ud83d": ["\\u0000"]}', FROM_PROVIDER) == {"text": "A\ufffd end", "\ufffd": ["\ufffd"]}


def test_a_whole_character_in_two_escapes_stays():
    assert read_json(b'"\\ud83d\\ude00"', FROM_BROWSER) == "😀"


def test_bounds_are_exact():
    bounds = Bounds(100, 3, 4)
    assert read_json("[[[]]]", bounds) == [[[]]] and read_json("[1,2,3]", bounds) == [1, 2, 3]
    for text in ("[[[[1]]]]", "[1,2,3,4]"):
        with pytest.raises(BadJson):
            read_json(text, bounds)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=20)


@given(JSON)
def test_whatever_json_is_read_can_be_written(value):
    found = read_json(json.dumps(value), FROM_PROVIDER)
    json.dumps(found, ensure_ascii=False).encode()


@given(st.text(st.characters() | st.sampled_from("\x00\x1b\x0b\x1c\x85\ud83d\udc00\ufffe\r\n\t")))
def test_safe_text_can_be_encoded_and_reads_the_same_by_lines(text):
    safe = safe_text(text)
    safe.encode()
    assert safe_text(safe) == safe
    assert len(safe.splitlines()) == len(text.splitlines())
    assert not any(ord(c) < 32 and c not in "\t\n\r" for c in safe)
