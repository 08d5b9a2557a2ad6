"""Every run of 8 characters of a secret is taken out of a text, in each form it comes back in; ordinary text stays."""

import base64
import logging
import random
import sys
import time
from urllib.parse import quote

import pytest

from pipeline.core.redact import Redactor
from pipeline.core.secret_names import environment_secrets, says_secret, secret_place
from pipeline.core.written import guard_logs, guarded, unguard_logs

KEY = "Zk7-canary_solver+9f31/aa07Q=="


def left_of(text: str) -> list[str]:
    return [KEY[i : i + 8] for i in range(len(KEY) - 7) if KEY[i : i + 8].lower() in text.lower()]


# case R3: the last 16 characters of a key reached the journal, the page and the log
@pytest.mark.parametrize("form", [
    KEY, KEY[-16:], KEY[:12], KEY[9:19], KEY.upper(), KEY.lower(), quote(KEY, safe=""), quote(KEY[8:], safe="/"), KEY.replace("/", "\\/"),
    KEY.replace("+", "\\u002b").replace("=", "\\u003d"), KEY.replace("+", "&#43;").replace("/", "&#x2f;"), KEY[::-1], " ".join(KEY), "\n".join(KEY),
    "\u200b".join(KEY), f"{KEY[:13]}\r\n  {KEY[13:]}", f"{KEY[:9]}-{KEY[9:]}", KEY.encode().hex(), KEY.encode().hex(" ").upper(),
    *(base64.b64encode(b"x" * n + KEY.encode()).decode() for n in range(3)), base64.urlsafe_b64encode(f"user:{KEY}".encode()).decode(),
    "".join(f"%{ord(c):02x}" for c in KEY), "".join(f"\\u{ord(c):04x}" for c in KEY), "".join(f"\\x{ord(c):02x}" for c in KEY),
    "".join(f"&#{ord(c)};" for c in KEY), ", ".join(str(ord(c)) for c in KEY)])
def test_a_key_is_taken_out_in_each_form_it_comes_back_in(form):
    clean = Redactor([KEY]).secrets(f"\u00e9 It was {form} that you sent.")
    assert "[key]" in clean and not left_of(clean) and clean.startswith("\u00e9 It was ") and clean.endswith(" that you sent.")
    plain = "".join(c for c in form if c.isalnum())
    assert not any(plain[i : i + 12] in "".join(c for c in clean if c.isalnum()) for i in range(4, len(plain) - 15))


def test_any_8_characters_of_any_key_are_taken_out_wherever_they_stand():
    rng = random.Random(8)
    for _ in range(800):
        key = rng.choice(("sk-", "hf_", "")) + "".join(rng.choices("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789-_+/", k=rng.randint(20, 90)))
        at = rng.randrange(len(key) - 8)
        part = key[at : at + rng.randint(8, 40)]
        text = "".join(rng.choices("abcd 1.\n\"", k=rng.randint(0, 9))) + part + rng.choice(("", " ", "x", ".", "9\n"))
        clean = Redactor([key]).secrets(text).lower()
        assert not any(part[i : i + 8].lower() in clean for i in range(len(part) - 7)), (key, text, clean)


@pytest.mark.parametrize(("key", "text"), [
    ("my-password-is-long", "The password policy is long and my password is long."), ("none", "none of it"), ("test", "a test"), ("EMPTY", "Empty!"),
    ("password", "the password"), ("no-key", "no-key"), ("teacher-training-2024", "The training in 2024."), ("12345678901", "at 1764512345678901234 ms"),
    ("my-responsibility-key", "Responsibility"), ("2024-lesson-plan-x7", "In 2024 lesson plans were long."), ("key-20261129-abcd", "2026-11-29 12:00"),
    (KEY, "A canary is a bird; the solver of 9 birds."), ("xxxxxxxxxxxx", "x"), ("", "")])
def test_words_that_a_key_happens_to_hold_stay(key, text):
    assert Redactor([key]).secrets(text) == text


def test_a_short_key_is_taken_out_where_it_stands_alone():
    assert Redactor(["hunter2"]).secrets("hunter2, hunter22, xhunter2") == "[key], hunter22, xhunter2"


def test_a_long_text_takes_a_few_milliseconds():
    rng = random.Random(8)
    keys = ["".join(rng.choices("ABCDEFabcdef0123456789-_", k=80)) for _ in range(3)]
    texts = [("Learners read a short text and answer in pairs. " * 2100)[:100_000], rng.randbytes(50_000).hex(), base64.b64encode(rng.randbytes(75_000)).decode()]
    redact = Redactor(keys)
    for text in texts:
        best = []
        for _ in range(7):
            start = time.process_time()
            assert redact.secrets(text) is text
            best.append(time.process_time() - start)
        assert min(best) < 0.05, "3 to 5 ms on a quiet machine"


def test_a_text_made_of_nearly_nothing_but_keys_ends():
    start = time.perf_counter()
    assert not left_of(Redactor([KEY]).secrets(f"{KEY} " * 3000))
    Redactor(["ab" * 30]).secrets("ab" * 50_000)
    assert time.perf_counter() - start < 10


def test_values_lose_keys_at_every_depth_and_numbers_stay():
    value = {"a": [{"b": f"x {KEY[-12:]}", "n": 17645123456}, KEY], KEY: 1}
    clean = Redactor([KEY, "17645123456"]).value(value)
    assert clean == {"a": [{"b": "x [key]", "n": 17645123456}, "[key]"], "[key]": 1}
    assert Redactor([KEY]).value(ok := {"a": [1, "b"]}) is ok


@pytest.mark.parametrize(("text", "gone"), [
    ("Incorrect API key provided: sk-proj-abcdef123456", "abcdef123456"), ("hf_abcdefghijklmnop is wrong", "abcdefgh"), ("Bearer zzz.yyy", "zzz"),
    ("GET https://me:pa55word@host/v1", "pa55word"), ("https://h/v1?api_key=abc123&x=1", "abc123"), ("https://h/?X-Amz-Signature=0a1b2c", "0a1b2c"),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"), ("https://h/back?code=q1w2e3&state=1", "q1w2e3")])
def test_what_has_the_shape_of_a_key_is_taken_out_of_errors(text, gone):
    assert gone not in Redactor()(text) and Redactor().secrets(text) == text


@pytest.mark.parametrize("text", ["Bearer authentication is required.", "The key-value store", "max_tokens=5 & more", "a bearer token was expected"])
def test_words_about_keys_stay(text):
    assert Redactor()(text) == text


@pytest.mark.parametrize("name", [
    "apiKey", "api-key", "x-api-key", "X_Goog_Api_Key", "Authorization", "auth", "bearer", "password", "passwd", "access_token", "credentials", "private_key",
    "secret", "session_token", "cookie", "APIKEY", "hfToken", "Ocp-Apim-Subscription-Key", "\uff21\uff30\uff29\uff3f\uff2b\uff25\uff39", "Proxy-Authorization", "key", "jwt"])
def test_a_name_that_says_secret_is_known_in_any_spelling(name):
    assert says_secret(name) and secret_place({"a": [{name: "x"}]}) is not None and secret_place({name: {"v": ["x"]}}) is not None


@pytest.mark.parametrize("value", [
    {"max_tokens": 5, "stop_token_ids": ["a"], "eos_token": "</s>"}, {"prompt_cache_key": "a"}, {"usage": {"include": True}}, {"metadata": {"user": "me"}},
    {"provider": {"order": ["a"], "require_parameters": True}}, {"response_schema": {"json_schema": {"password": {"type": "string"}}}}, {"author": "me"},
    {"X-Title": "l2-bench", "HTTP-Referer": "https://example.org"}, {"reasoning": {"effort": "low"}}, {"chat_template_kwargs": {"enable_thinking": False}}])
def test_settings_that_hold_no_key_are_taken(value):
    assert secret_place(value) is None


def test_the_secrets_of_an_environment_are_known_by_their_names_and_within_addresses():
    env = {"OPENAI_API_KEY": "Bearer sk-abc123def", "MY_PASSWORD": "pa55word", "HTTPS_PROXY": "http://me:pr0xy%2Fword@h:1", "PATH": "/bin", "MAX_TOKENS": "4096",
           "TOKENIZERS_PARALLELISM": "false", "X_KEY": "$OTHER", "CREDENTIALS": '{"private_key": "abcd1234efgh", "type": "service"}', "KEY_FILE": "/a/b"}
    assert environment_secrets(env) == ["abcd1234efgh", "me", "pa55word", "pr0xy%2Fword", "pr0xy/word", "sk-abc123def"]


def test_log_records_and_what_a_command_prints_lose_keys(caplog, capsys, monkeypatch):
    monkeypatch.setenv("SOME_SECRET", KEY)

    @guarded
    def command() -> int:
        print(f"out {KEY[-12:]}")
        print(f"err {KEY}", file=sys.stderr)
        logging.getLogger("somebody").error("log %s", KEY[3:15])
        return 0

    take_out = Redactor([KEY]).secrets
    guard_logs(take_out)
    try:
        assert command() == 0
        try:
            raise ValueError(f"bad {KEY}")
        except ValueError:
            logging.getLogger("somebody").exception("broke off")
    finally:
        unguard_logs(take_out)
    out = capsys.readouterr()
    assert out.out == "out [key]\n" and "err [key]" in out.err and not left_of(out.out + out.err + caplog.text)
    assert "log [key]" in caplog.text and "ValueError: bad [key]" in caplog.text
