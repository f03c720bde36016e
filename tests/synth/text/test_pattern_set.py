"""Many patterns in one pass: the hits are those that `re` finds, whatever the text; what RE2 reads
differently is refused by name.
"""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synth.text.pattern_set import PatternSet

PATTERNS = {
    "key": r"(?i)\bsk-[a-z0-9]{3,}",
    "spaced": r"a\s+b",
    "not spaced": r"[^\sx]\Sy",
    "bracketed": r"[]\s]k",
    "word": r"\bmiss\b",
    "kelvin": r"(?i)[^k]k[^s]s",
    "line": r"(?m)^to:.*$",
    "end": r"z\Z",
    "number": r"\d{2,4}",
    "any": r"q.q",
    "letter": "é+s",
}
SET = PatternSet(PATTERNS)
texts = st.text(
    alphabet=st.sampled_from("absxyzkKmiq-SK0to: ].\n\x0b\x1c\x85ſKéß\ud800½٣"), max_size=24
)


@given(texts)
@settings(max_examples=150)
@example("a\x0bb")
@example("tKaſ")
@example("xkſs")
@example("\ud800 sk-abc")
@example("z\n")
def test_hits_and_spans_are_those_of_re(text: str) -> None:
    plain = {
        name: [match.span() for match in re.compile(pattern, re.ASCII).finditer(text)]
        for name, pattern in PATTERNS.items()
    }
    assert SET.spans(text) == {name: spans for name, spans in plain.items() if spans}
    assert SET.hits(text) == tuple(name for name, spans in plain.items() if spans)


def test_positions_are_characters_and_not_bytes() -> None:
    assert PatternSet({"b": "b+"}).spans("éabb") == {"b": [(2, 4)]}


def test_no_patterns_hit_nothing() -> None:
    assert PatternSet({}).hits("text") == ()


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        (r"(?=a)b", "look-around"),
        (r"(a)\1", "back-references"),
        ("a$", r"write \\Z"),
        ("a*", "empty text"),
        (r"[^\S]", "within brackets"),
        ("[[:alpha:]]", "within brackets"),
        ("(?i)é", "beyond ASCII"),
        ("a{,3}b", r"write {0,n}"),
        ("(", "no regular expression"),
        ("(?x) a b", "no .*x"),
    ],
)
def test_what_re2_reads_differently_is_refused_by_name(pattern: str, told: str) -> None:
    with pytest.raises(ValueError, match=rf"mine: .*{told}"):
        PatternSet({"fine": "a", "mine": pattern})
