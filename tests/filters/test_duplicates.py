"""The filter `duplicates`: copies go, the better row stays, whatever order they come in."""

import random
from itertools import permutations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.filters.duplicates import FILTER
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Authorship, SampledBy, ToolCall, Trajectory
from synth.stats.minhash import NearIndex, jaccard
from synth.text.similarity import exact_key, shingles
from tests.filters.corpora import cases, chat, judged
from tests.trajectories import make_trajectory, make_turn

RNG = random.Random(4)
WORDS = [f"w{at}" for at in range(500)]
LONG = " ".join(RNG.choices(WORDS, k=300))
OTHER = " ".join(RNG.choices(WORDS, k=300))
FAILED = {"outcome": Outcome.FAILURE, "termination": Termination.AGENT_STOP, "reward": 0.0}


def edited(text: str, changes: int) -> str:
    words = text.split()
    for at in range(changes):
        words[at * len(words) // changes] = f"edit{at}"
    return " ".join(words)


def copied(text: str, identity: str, **fields: object) -> Trajectory:
    return chat(identity, text, "done", **fields)


def test_the_better_of_exact_copies_stays_in_any_order() -> None:
    rows = [
        copied(LONG, "failed", **FAILED),
        copied(LONG, "script", authorship=Authorship.SCRIPTED),
        copied(LONG, "later", trial=3),
        copied(LONG, "first"),
    ]
    for order in permutations(rows):
        found = judged(FILTER, cases(order))
        assert {identity: (v.keep, v.reason) for identity, v in found.items()} == {
            "first": (True, "best_of_copies"),
            **{identity: (False, "exact") for identity in ("failed", "script", "later")},
        }
        assert found["failed"].detail == {"of": "first"}
        assert found["first"].detail["copies"] == 3


def test_a_retry_is_compared_by_what_it_teaches() -> None:
    """The turns before a retry's pivot are its parent's: they make it no copy of the parent, nor
    of another retry that goes on otherwise.
    """

    def played(identity: str, *said: str, **fields: object) -> Trajectory:
        turns = tuple(make_turn(at, content=text) for at, text in enumerate(said))
        made = make_trajectory(trajectory_id=identity, turns=0, **fields)
        return msgspec.structs.replace(made, turns=turns)

    rows = [
        played("parent", LONG, "one way"),
        played("retry", LONG, "another way that was found", pivot_turn=1),
        played("again", LONG, "another way that was found", pivot_turn=1, trial=1),
        played("third", LONG, "something else altogether here", pivot_turn=1, trial=2),
    ]
    found = judged(FILTER, cases(rows))
    assert {identity: verdict.reason for identity, verdict in found.items()} == {
        "parent": "unique",
        "retry": "best_of_copies",
        "again": "exact",
        "third": "unique",
    }


def test_runs_of_which_nothing_is_learnt_are_compared_as_wholes() -> None:
    """A run that is one mistake that was put in, or was cut off, teaches nothing: that makes it no
    copy of every other such run.
    """

    def played(identity: str, said: str, **fields: object) -> Trajectory:
        made = make_trajectory(trajectory_id=identity, turns=0, **FAILED)
        turn = msgspec.structs.replace(make_turn(0, content=said), **fields)
        return msgspec.structs.replace(made, turns=(turn,))

    injected = {"sampled_by": SampledBy.INJECTED}
    rows = [
        played("cut", LONG, mask="cut_off"),
        played("injected", OTHER, **injected),
        played("injected too", "take the second one", **injected),
        played("the same", "take the second one", **injected),
    ]
    found = judged(FILTER, cases(rows))
    assert {identity: verdict.reason for identity, verdict in found.items()} == {
        "cut": "unique",
        "injected": "unique",
        "injected too": "best_of_copies",
        "the same": "exact",
    }


def test_near_copies_go_and_others_stay() -> None:
    rows = [copied(LONG, "a"), copied(edited(LONG, 8), "b", trial=1), copied(OTHER, "c")]
    found = judged(FILTER, cases(rows))
    assert [(i, v.reason) for i, v in sorted(found.items())] == [
        ("a", "best_of_copies"),
        ("b", "near"),
        ("c", "unique"),
    ]
    # 305 words with what else is said make 303 triples; each of 8 words edited far apart changes 3
    # of them on either side
    assert found["b"].score == pytest.approx((303 - 24) / (303 + 24))
    assert {v.reason for v in judged(FILTER, cases(rows), similarity=None).values()} == {"unique"}
    assert {v.reason for v in judged(FILTER, cases(rows), similarity=0.99).values()} == {"unique"}


def test_of_a_chain_of_edits_those_far_from_what_was_kept_stay() -> None:
    chain = [LONG, edited(LONG, 12), edited(edited(LONG, 12)[::1], 12)]
    far = " ".join(word if at % 12 else f"far{at}" for at, word in enumerate(LONG.split()))
    rows = [copied(text, f"r{at}", trial=at) for at, text in enumerate([*chain[:2], far])]
    kept = {i for i, v in judged(FILTER, cases(rows), similarity=0.7).items() if v.keep}
    assert kept == {"r0", "r2"}


def test_a_success_and_the_failure_beside_it_both_stay_where_outcomes_are_kept_apart() -> None:
    rows = [copied(LONG, "good"), copied(LONG, "bad", **FAILED)]
    assert judged(FILTER, cases(rows))["bad"].keep is False
    assert [v.keep for v in judged(FILTER, cases(rows), across_outcomes=False).values()] == [
        True,
        True,
    ]


def test_what_all_transcripts_share_makes_no_copies() -> None:
    rows = [
        copied(f"answer {at}", f"t{at}", asked=LONG, task_id=f"task{at}", system_prompt=OTHER)
        for at in range(3)
    ]
    assert {v.reason for v in judged(FILTER, cases(rows)).values()} == {"unique"}
    same_task = [msgspec.structs.replace(row, task_id="task0") for row in rows]
    assert [v.reason for v in judged(FILTER, cases(same_task)).values()].count("near") == 2, (
        "one task's own words are not shared text"
    )


def test_ids_of_calls_and_the_order_of_arguments_make_no_difference() -> None:
    def called(call_id: str, arguments: str) -> Trajectory:
        return make_trajectory(call_id, turns=0, task_id="t", opening=()).__class__(
            **{
                **{
                    name: getattr(make_trajectory(call_id), name)
                    for name in Trajectory.__struct_fields__
                },
                "turns": (
                    make_turn(
                        0,
                        tool_calls=(ToolCall.received(call_id, "look", arguments),),
                        observations=(),
                    ),
                ),
            }
        )

    assert exact_key(called("x", '{"a": 1, "b": 2}')) == exact_key(called("y", '{"b":2,"a":1}'))
    assert exact_key(called("x", '{"a": 1}')) != exact_key(called("x", '{"a": 2}'))


def test_rows_whose_turns_others_teach_go_where_the_flow_says_so() -> None:
    whole = chat("whole", "one two three", "four five six", "seven eight nine")
    part = chat("part", "one two three", "four five six", trial=1, **FAILED)
    found = judged(FILTER, cases([part, whole]), similarity=None)
    assert (found["part"].keep, found["part"].detail) == (True, {"copied_turns": 1.0})
    found = judged(FILTER, cases([part, whole]), similarity=None, copied_turns=0.9)
    assert (found["part"].keep, found["part"].reason, found["whole"].keep) == (
        False,
        "copied_turns",
        True,
    )


def test_a_transcript_without_turns_is_undefined() -> None:
    assert {v.reason for v in judged(FILTER, cases([chat("a"), chat("b")])).values()} == {"empty"}


@given(st.lists(st.sampled_from(["ab", "cd", "Ef", "g,h", "ü", "1"]), max_size=30))
@settings(max_examples=60)
def test_shingles_are_the_distinct_word_triples(words: list[str]) -> None:
    plain = " ".join(words).casefold().replace(",", " ").split()
    triples = (
        {tuple(plain[at : at + 3]) for at in range(max(len(plain) - 2, 1))} if plain else set()
    )
    found = shingles(words)
    assert len(found) == len(triples)
    assert (np.diff(found.astype(object)) > 0).all()
    assert np.array_equal(found, shingles([" ".join(words).upper()])) or "ü" in words


@given(st.sets(st.integers(0, 40)), st.sets(st.integers(0, 40)))
@settings(max_examples=50)
def test_jaccard_is_that_of_sets(one: set[int], other: set[int]) -> None:
    found = jaccard(np.array(sorted(one), np.uint64), np.array(sorted(other), np.uint64))
    assert found == pytest.approx(len(one & other) / len(one | other) if one | other else 0.0)


def test_text_without_spaces_is_compared_by_characters() -> None:
    text = "".join(chr(0x4E00 + RNG.randrange(3000)) for _ in range(200))
    changed = text[:100] + "改" + text[101:]
    with NearIndex(0.5) as index:
        for one in (text, changed, text[::-1]):
            index.add(shingles([one]))
        index.close_adding()
        index.open(0)
        # 193 runs of 8 characters on either side, 8 of them changed
        assert index.similar(1) == [(0, pytest.approx(185 / 201))]
        assert index.similar(2) == []


def test_turns_that_differ_in_a_word_are_taught_already_where_a_similarity_is_given() -> None:
    words = [f"word{at}" for at in range(60)]
    said = " ".join(words)
    edited = " ".join(
        [*words[:30], "other", *words[31:]]
    )  # 3 of 60 triples differ, asked for and answered alike
    other = " ".join(f"new{at}" for at in range(60))
    corpus = cases(
        [
            chat("best", said, said + " more"),
            chat("near", edited, edited + " more"),
            chat("far", other, other + " more"),
        ]
    )
    exact = judged(FILTER, corpus, similarity=None)
    assert [exact[name].detail["copied_turns"] for name in ("best", "near", "far")] == [
        0.0,
        0.0,
        0.0,
    ]
    near = judged(FILTER, corpus, similarity=None, turn_similarity=0.8, copied_turns=0.9)
    assert [near[name].keep for name in ("best", "near", "far")].count(False) == 1
    assert {near["best"].reason, near["near"].reason} == {"unique", "copied_turns"}
    assert near["far"].keep
