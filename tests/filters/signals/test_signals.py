"""Signals: equal to the rules written down plainly, whatever is said; corrections; the filter
annotates, and drops on demand.
"""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.envs.echo import WORLD
from synth.filters.signals import patterns
from synth.filters.signals.signals import NAMES, SignalsConfig, found_in, measure, signals
from synth.importers.records import Imported
from synth.schemas.filtering import Case, Verdict
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory, Turn
from tests.filters.signals.plain import plain_signals
from tests.synth.importers.imports import imported
from tests.trajectories import make_trajectory

DATA = Path(__file__).parents[4] / "shared" / "data"
PHRASES = [
    *(
        "no, i meant",
        "let me rephrase",
        "what do you mean",
        "talk to a manager",
        "forget it",
        "this is useless",
        "wtf is this",
    ),
    *(
        "appreciate it",
        "that works",
        "it worked",
        "i ment no",
        "thats great!",
        "a",
        "the order is late",
        "yes please",
        "WHY IS IT LATE??",
    ),
    *(
        "I want to return the red gloves from order nine",
        "red gloves from order nine return them",
        "\u2019tis",
        "éé",
        "!!",
        "x" * 2100,
    ),
]
ANSWERS = [
    *(
        "ok",
        "Error: missing required parameter",
        "404 unknown tool x",
        "403 forbidden",
        "must call login first",
        "invalid id",
    ),
    *(
        "unknown field q",
        "HTTP 429",
        "internal server error",
        "the timeout is 5",
        "connection refused",
        "unexpected token",
        "max tokens",
    ),
    '{"error": "conflict"}',
]
turns = st.builds(
    lambda text, calls, answers, users: (text, calls, answers, users),
    st.none() | st.lists(st.sampled_from(PHRASES), max_size=3).map(" ".join),
    st.lists(
        st.tuples(
            st.sampled_from("abc"),
            st.sampled_from(['{"q": 1, "p": 2}', '{"p": 2, "q": 1}', '{"q": 2}', "no"]),
        ),
        max_size=3,
    ),
    st.lists(st.sampled_from(ANSWERS), max_size=2),
    st.lists(st.sampled_from(PHRASES), max_size=2).map(" ".join),
)


def talk(*given_turns: Any, opening: str = "Please look.") -> Trajectory:
    """(text, calls, answers, what the user says)"""
    made = []
    for at, (text, calls, answers, user) in enumerate(given_turns):
        seen = [Observation(answer, Source.TOOL) for answer in answers]
        seen += [Observation(user, Source.USER)] if user else []
        tools = tuple(
            ToolCall.received(f"c{at}.{n}", name, arguments)
            for n, (name, arguments) in enumerate(calls)
        )
        made.append(Turn(at, text, tools, tuple(seen)))
    opened = make_trajectory(turns=0, opening=(Observation(opening, Source.USER),))
    return msgspec.structs.replace(opened, turns=tuple(made))


def kinds(trajectory: Trajectory, *, corrected: bool = False) -> list[str]:
    return [signal.kind for signal in found_in(trajectory, corrected=corrected)[1].signals or ()]


def equal_to_plain(trajectory: Trajectory) -> None:
    heard_score, found = found_in(trajectory)
    heard = found.signals or ()
    plain, score = plain_signals(trajectory)
    assert sorted((s.kind, s.at, pytest.approx(s.confidence)) for s in heard) == plain
    assert heard_score == pytest.approx(score)


@pytest.mark.slow
@given(st.lists(turns, max_size=6), st.sampled_from(PHRASES))
@settings(max_examples=20)
def test_signals_and_score_equal_the_plain_rules(some: list[Any], opening: str) -> None:
    equal_to_plain(talk(*some, opening=opening))


@pytest.mark.slow
@pytest.mark.skipif(not DATA.is_dir(), reason="real trajectories absent: ../shared/data")
@pytest.mark.parametrize(
    "folder",
    [
        "tau1",
        "tau1_retail",
        "agentrx_tau",
        "tau2_retail_multi",
        "whowhen_ag",
        "sweagent_demos",
        "toolbench",
    ],
)
def test_signals_equal_the_plain_rules_on_real_trajectories(folder: str) -> None:
    found = [entry.trajectory for entry in imported([DATA / folder]) if isinstance(entry, Imported)]
    for trajectory in found[:12]:
        equal_to_plain(trajectory)
    assert found


@pytest.mark.parametrize(
    ("user", "kind"),
    [
        ("No, I meant the blue one", "misalignment.correction"),
        (
            "No I ment",
            "misalignment.correction",
        ),  # two of three words are those of a phrase: cosine 2/3
        ("Let me rephrase that for you", "misalignment.rephrase"),
        ("Sorry, what do you mean by that", "misalignment.clarification"),
        ("Can I talk to a manager about it", "disengagement.escalation"),
        ("ok I give up", "disengagement.quit"),
        ("honestly this is a waste of time", "disengagement.negative"),
        ("I really appreciate it", "satisfaction.gratitude"),
        ("fine, that works", "satisfaction.confirmation"),
        ("I tried and it worked", "satisfaction.success"),
    ],
)
def test_what_people_say_is_heard(user: str, kind: str) -> None:
    assert kind in kinds(talk(("Done.", [], [], user)))


def test_the_worked_score_of_three_failures_two_loops_and_a_thank_you() -> None:
    bad = [(None, [("a", '{"q": 1}')], ["Error: invalid argument"], "")] * 3
    turned = talk(*bad, ("There.", [], [], "I appreciate it"))
    # three equal calls are a retry; 50 + 20 * 0.6 - 8 * 3 - 5 * 1
    assert sorted(kinds(turned)) == ["failure.invalid_arguments"] * 3 + [
        "loops.retry",
        "satisfaction.gratitude",
    ]
    assert found_in(turned)[0] == pytest.approx(33.0)
    assert found_in(turned)[1].label == "poor"


def test_dragging_begins_with_the_tenth_message_of_a_person() -> None:
    nine = [(f"text {at}", [], [], f"word {at}") for at in range(8)]
    assert "stagnation.dragging" not in kinds(talk(*nine))
    assert "stagnation.dragging" in kinds(talk(*nine, ("more", [], [], "another")))


def test_corrections_let_pass_what_only_looks_wrong() -> None:
    reading = talk(
        (
            None,
            [("cat", '{"path": "a"}')],
            ["def connect(timeout=5): raise Conflict  # permission denied"],
            "",
        )
    )
    assert kinds(reading) == ["failure.authorisation", "exhaustion.timeout"]
    assert kinds(reading, corrected=True) == []
    pages = talk(
        *[(None, [("list", json.dumps({"page": at}))], [f"items {at}"], "") for at in range(4)]
    )
    assert kinds(pages) == ["loops.parameter_drift"]
    assert kinds(pages, corrected=True) == []
    groping = talk(
        *[
            (None, [("list", json.dumps({"page": at}))], ["Error: no such page"], "")
            for at in range(4)
        ]
    )
    assert kinds(groping, corrected=True) == ["loops.parameter_drift"]
    working = talk(
        *[
            (None, [(name, json.dumps({"step": at}))], ["fine"], "")
            for at in range(3)
            for name in ("edit", "test")
        ]
    )
    assert kinds(working) == ["loops.oscillation"]
    assert kinds(working, corrected=True) == []
    stop = talk(("Bye.", [], [], "###STOP###"))
    assert (found_in(stop)[0], found_in(stop, corrected=True)[1].label) == (50.0, "silent")


def test_a_recovered_failure_does_not_count_where_corrected() -> None:
    mended = talk(
        (None, [("a", "{}")], ["Error: invalid argument"], ""),
        (None, [("a", '{"q": 1}')], ["fine"], ""),
    )
    assert found_in(mended)[0] == 42.0
    assert found_in(mended, corrected=True)[0] == 50.0
    assert [s.confidence for s in found_in(mended, corrected=True)[1].signals or ()] == [0.45]


def verdict(trajectory: Trajectory, **given: Any) -> Verdict:
    config = SignalsConfig(**given)
    case = Case(trajectory, None, lambda name, settings: WORLD.open(settings))
    measured = asyncio.run(measure(case, config, None))  # type: ignore[arg-type]  # it asks nobody
    return asyncio.run(signals(msgspec.structs.replace(case, measures=tuple(measured)), config))


def test_it_annotates_and_drops_only_what_the_flow_names() -> None:
    angry = talk(("Done.", [], [], "I give up"))
    assert verdict(angry) == Verdict(True, "severe", 0.0, {"counts": {"disengagement": 1}})
    assert verdict(angry, drop=["disengagement.quit"]).reason == "disengagement.quit"
    assert verdict(angry, drop=["disengagement"]).keep is False
    assert verdict(angry, drop=["failure"]).keep is True
    assert verdict(angry, min_score=1).reason == "below_min_score"
    assert verdict(make_trajectory(turns=0, opening=())) == Verdict(None, "empty")
    with pytest.raises(ValueError, match="no signal 'loop'"):
        SignalsConfig(drop=("loop",))


def test_every_list_and_kind_is_named_once() -> None:
    assert len(set(NAMES)) == len(NAMES)
    everything = [
        phrase
        for name in ("correction", "rephrase", "clarification", "escalation", "quit")
        for phrase in patterns.PHRASES[name]
    ]
    assert len(set(everything)) == len(everything)
