"""The normaliser erases what a process leaks, and nothing else."""

import re

from hypothesis import assume, given
from hypothesis import strategies as st

from synth.envs.normalise import normalised, normalised_text
from synth.schemas.trajectory import Observation, Source

ERASED = re.compile(r"at 0x[0-9a-f]{6,16}\b|/tmp/tmp[a-z0-9_]{8}\b")
TEXTS = st.text(st.sampled_from("ab01x_ /.:\n{}\"'TZ-é"), max_size=40)
LEAKS = st.one_of(
    st.integers(0x100000, 2**64 - 1).map(lambda address: f"<function f at {address:#x}>"),
    st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz0123456789_"), min_size=8, max_size=8).map(
        lambda name: f"/tmp/tmp{name}/x"
    ),
)


def test_object_addresses_and_temporary_names_are_erased():
    text = "<Desk object at 0x7f3a5c0d2e90> wrote /tmp/tmpk3j2h1g0/orders.db"
    assert normalised_text(text) == "<Desk object at 0x> wrote /tmp/tmp/orders.db"


def test_times_ids_and_amounts_survive():
    text = (
        '{"order": "O-7731", "at": "2026-03-01T10:15:00Z", "total": 12.50, "hash": '
        '"0x7f3a5c0d2e90", "file": "/tmp/report.txt"}'
    )
    assert normalised_text(text) == text


@given(TEXTS)
def test_a_text_without_leaks_stays_as_it_is(text):
    assume(not ERASED.search(text))
    assert normalised_text(text) == text


@given(TEXTS, LEAKS, LEAKS, TEXTS)
def test_two_runs_that_differ_in_leaks_alone_are_the_same(before, leak, other, after):
    assume(leak.startswith("<") == other.startswith("<"))
    assert normalised_text(f"{before} {leak} {after}") == normalised_text(
        f"{before} {other} {after}"
    )


@given(TEXTS, LEAKS, TEXTS, st.integers(0, 200), st.sampled_from("zqQ9!é"))
def test_a_mutation_of_any_character_that_survives_is_caught(before, leak, after, place, new):
    text = f"{before} {leak} {after}"
    place %= len(text)
    survives = all(not match.start() <= place < match.end() for match in ERASED.finditer(text))
    mutated = text[:place] + new + text[place + 1 :]
    assume(
        survives
        and text[place] != new
        and len(ERASED.findall(mutated)) == len(ERASED.findall(text))
    )
    assert normalised_text(mutated) != normalised_text(text)


@given(TEXTS)
def test_normalising_twice_is_normalising_once(text):
    assert normalised_text(normalised_text(text)) == normalised_text(text)


def test_all_other_fields_of_an_observation_survive():
    observation = Observation("at 0x7f3a5c0d2e90", Source.USER, "c1", "tool", error=True)
    assert normalised(observation) == Observation("at 0x", Source.USER, "c1", "tool", error=True)
