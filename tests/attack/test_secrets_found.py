"""Secrets of every family in every context are found whole; what only looks like one is left; no
text takes long.
"""

import json
import string
from random import Random
from time import process_time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from benchmarks import planted_by_others
from benchmarks.planted_contexts import (
    LABEL_CONTEXTS,
    STATEMENT_CONTEXTS,
    drawn,
    families,
    planted_in_context,
)
from benchmarks.planted_forms import LABELLED, STATEMENTS
from benchmarks.planted_secrets import harmless, left_of
from synth.text.secrets.finder import Finder
from synth.text.secrets.judges import is_random, judge

FINDER = Finder()
PLANTED = list(planted_in_context(seed=11))


@pytest.mark.parametrize("family", families())
def test_at_least_nine_of_ten_of_a_family_are_found_whole(family: str) -> None:
    missed = [
        text
        for name, _, secret, text in PLANTED
        if name == family and left_of(FINDER, text, secret)
    ]
    assert len(missed) <= 1, missed


def test_in_nearly_all_families_in_every_context_nothing_is_left() -> None:
    rng = Random(12)
    missed = [
        (name, context)
        for name, (label, form) in LABELLED.items()
        for context, put in LABEL_CONTEXTS.items()
        if left_of(FINDER, put(label, value := drawn(form, rng)), value)
    ]
    for name, form in STATEMENTS.items():
        for context, wrap in STATEMENT_CONTEXTS.items():
            said = drawn(form, rng)
            secret = said[said.index("«") + 1 : said.index("»")]
            if left_of(FINDER, wrap(said.replace("«", "").replace("»", "")), secret):
                missed.append((name, context))
    count = len(LABELLED) * len(LABEL_CONTEXTS) + len(STATEMENTS) * len(STATEMENT_CONTEXTS)
    assert len(missed) <= 0.02 * count, missed


PASSWORD_SIGNS = string.ascii_letters + string.digits + "!#%*+-_?@^~"


@given(
    st.integers(0, 10**6),
    st.integers(0, 3),
    st.sampled_from(["db_password", "API_TOKEN", "clientSecret"]),
)
@settings(max_examples=60)
def test_json_in_json_hides_nothing_however_deep(seed: int, depth: int, label: str) -> None:
    secret = "".join(Random(seed).choices(string.ascii_letters + string.digits, k=20))
    assume(is_random(secret))
    text = json.dumps({"n": 1, label: secret})
    for _ in range(depth):
        text = json.dumps({"result": text})
    assert not left_of(FINDER, text, secret)


@pytest.mark.parametrize("length", [16, 20, 32, 40])
def test_what_is_drawn_is_seldom_taken_for_words(length: int) -> None:
    """At most one in a thousand of what is drawn from letters and digits reads like words."""
    drawn_ones = [
        "".join(Random(seed).choices(string.ascii_letters + string.digits, k=length))
        for seed in range(20_000)
    ]
    assert sum(not is_random(one) for one in drawn_ones) <= 0.001 * len(drawn_ones)


@given(
    st.text(PASSWORD_SIGNS, min_size=9, max_size=30),
    st.sampled_from(['{{"password": {}}}', "password = {}", "DB_PASSWD={}"]),
)
@settings(max_examples=80)
def test_a_quoted_password_of_any_characters_is_found_whole(secret: str, form: str) -> None:
    if judge("password")(secret):
        assert not left_of(FINDER, form.format(json.dumps(secret)), secret)


@pytest.mark.parametrize("between", ["\u200b", "\u00ad", "\ufeff"])
def test_characters_without_width_do_not_hide_a_token(between: str) -> None:
    token = drawn("ghp_{w36}", Random(5))
    text = f"token {between.join((token[:12], token[12:]))} here"
    (span,) = FINDER.found(text)
    assert span.value == token


def test_html_escapes_do_not_hide_a_password() -> None:
    secret = drawn("{w16}", Random(6))
    assert not left_of(FINDER, f"{{&quot;password&quot;: &quot;{secret}&quot;}}", secret)


@pytest.mark.parametrize("source", sorted({source for source, _ in harmless(1, 1)}))
def test_what_only_looks_like_a_secret_is_left(source: str) -> None:
    found = [FINDER.found(text) for name, text in harmless(21, 100) if name == source]
    assert sum(map(bool, found)) == 0, [spans for spans in found if spans]


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password()",
        "def login(self, token: str, password: str | None = None) -> str:",
        "model(max_tokens=4096, tokens: 512, token_count = 77)",
        "api_key = os.environ['OPENAI_API_KEY']",
        "export API_TOKEN=${TOKEN}",
        "API_KEY=<YOUR_API_KEY>",
        "password: '***'",
        "token: {{ secrets.DEPLOY_TOKEN }}",
        "Who is your secret santa? The password is required and the token is invalid.",
        '{"password": {"type": "string", "description": "the password"}}',
        'tokenizer = {"pad_token": "<pad>", "eos_token": "</s>", "token": "Ġthe"}',
        "password_field = forms.PasswordField(label='Password')",
        "The password is incorrect, please reset your password.",
        "primary_key: user_id, foreign_key: order_id, cache_key = 'a1b2c3'",
        "ratio 0.5454545454545454 of 4.111111111111111e15, id A4111111111111111",
        "key = sorted(words, key=lambda word: word.count)",
        "password = self.config.password",
        "Basic authentication, bearer tokens and session cookies are supported.",
        "kubectl get secret my-app -o yaml",
        "password=[REDACTED:credential:1]",
        "see "
        "https://github.com/acme/login/blob/8da0b9b215ebfad5756051c891def88e426787e7/auth/reset.py",
        "https://shop.example.org/account/orders/invite?page=2&sort=price_descending_then_name",
        "openai_messages:1138500f25c04decda80b90deebfa97f:line1:chats.jsonl",
        'NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", '
        '"nine", "ten", "eleven")',
        "2 tests pass: test_that_it_works, 3 fail; the code: 404, error code 500123 in line 941103",
        "The answer to the ultimate question: is the login page / form_with_two_fields done?",
        "Recovery codes let you in when you lost your phone: print them out.",
        "def reset(self, token): return f'https://app.example.org/reset?token={token}'",
        "[1, 2, 3, 4, 5, 6, 7, 8]" * 8,
        "$ cat passwords.md\nHow to choose a good one",
        "the wifi password is on the sticker of the router",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq7tWm0p8mC5h1xq1E0m0Q2l1y8k9c4Zr7n5u3X2w1A ann@host",
    ],
)
def test_code_placeholders_and_sentences_are_left(text: str) -> None:
    assert FINDER.found(text) == []


HOSTILE = {
    "one letter": "a" * 1_000_000,
    "labels": "token=" * 60_000,
    "labels and quotes": '"password": "' * 15_000,
    "escaped quotes": "token='x\\'" * 20_000,
    "backslashes": 'token="' + "\\" * 500_000,
    "addresses": "a@" * 500_000,
    "URLs": "a://b:" * 150_000,
    "digits": "1" * 1_000_000,
    "key heads": "-----BEGIN PRIVATE KEY-----" * 30_000,
    "surrogates": "\ud800password=abc" * 15_000,
    "Kelvin signs": "\u212atoken=abc" * 20_000,
}


def test_in_sets_by_others_nine_of_ten_of_seventeen_kinds_are_found() -> None:
    """Sets that the rules have learned from since: what they once found they find."""
    report = planted_by_others.measure()
    assert len(report.figures) == 11
    assert [figure.value for figure in report.figures if figure.value < 17] == []


def _cpu_s(text: str) -> float:
    began = process_time()
    FINDER.found(text)
    return process_time() - began


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_time_grows_with_the_length_of_a_text_and_no_faster(name: str) -> None:
    """Four times the text: four times as long. What grows as its square takes sixteen times.

    A search is timed again, up to three times: another process on the same core slows one.
    """
    text = HOSTILE[name]
    allowed = 8 * _cpu_s(text[: len(text) // 4]) + 0.1
    assert any(_cpu_s(text) < allowed for _ in range(3))
