"""A reflection is read out of any reply that holds one, and out of nothing else."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.engine.asking import UnreadableError
from synth.schemas.outcome import Outcome, Termination
from synth.synthesizers.reflection.reflection import (
    KEYS,
    LONGEST_TEXT,
    Reflection,
    form_of,
    parsed_reflection,
)
from tests.trajectories import make_trajectory

GOOD: dict[str, Any] = {
    "trajectory_summary": "It cancelled the order.",
    "root_cause_analysis": "It asked for no yes.",
    "trajectory_outcome": "failure",
    "improvement_suggestion": "Ask before each change.",
    "retry_from_step": 3,
}
SUCCESS = GOOD | {
    "trajectory_outcome": "success",
    "improvement_suggestion": None,
    "retry_from_step": None,
}
READ = Reflection(
    "It cancelled the order.", "It asked for no yes.", "failure", "Ask before each change.", 3
)


def reply(**changes: Any) -> str:
    return json.dumps(GOOD | changes)


@pytest.mark.parametrize(
    "text",
    [
        reply(),
        f"Here is my diagnosis:\n\n{reply()}\n\nI hope that it helps {{or not}}.",
        f"```json\n{json.dumps(GOOD, indent=2)}\n```",
        f'<think>Perhaps {{"retry_from_step": 1}}? No, {{ later.</think>\n{reply()}',
        f"First draft: {reply(retry_from_step=1)}\nOn second thought:\n```\n{reply()}\n```\nwith "
        '{"confidence": 0.7}',
        json.dumps({"note": "an extra key", **GOOD}),
        "[" + reply() + "]",
        "{" * 300 + reply(),
    ],
)
def test_it_is_found_in_prose_fences_thoughts_and_drafts(text: str) -> None:
    assert parsed_reflection(text, 5) == READ


@pytest.mark.parametrize(
    ("written", "step"),
    [("3", 3), (" 4\n", 4), ("0", 0), (0, 0), (4, 4), (3.0, 3), ("3.0", 3), ([3], 3)]
    + [(text, 3) for text in ("step 3", "Step #3", "step: 3.", "3)", "three", "٣")],
)
def test_a_step_may_be_a_whole_number_or_a_text_that_names_one(written: Any, step: int) -> None:
    assert parsed_reflection(reply(retry_from_step=written), 5).retry_from_step == step


@pytest.mark.parametrize(
    "written",
    [
        2.5,
        "2.5",
        "three or four",
        "step 3 or 4",
        "",
        "+3",
        "-0",
        True,
        False,
        [3, 4],
        {"step": 3},
        "9" * 5000,
    ],
)
def test_nothing_else_is_a_step(written: Any) -> None:
    with pytest.raises(UnreadableError, match=r"^retry_from_step is .*, not a whole number$"):
        parsed_reflection(reply(retry_from_step=written), 5)


def test_not_a_number_is_no_step() -> None:
    with pytest.raises(UnreadableError, match="not a whole number"):
        parsed_reflection(reply().replace(": 3}", ": NaN}"), 5)


@pytest.mark.parametrize("step", [-1, 5, "5", 10**30])
def test_a_step_lies_within_the_attempt(step: Any) -> None:
    with pytest.raises(UnreadableError, match=r"retry_from_step is -?\d+; the steps are 0 to 4$"):
        parsed_reflection(reply(retry_from_step=step), 5)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"trajectory_outcome": "Defeat"},
            'trajectory_outcome is "Defeat", none of success, success_but_inefficient, failure',
        ),
        ({"trajectory_outcome": None}, "trajectory_outcome is null, none of"),
        ({"trajectory_outcome": ["failure", "success"]}, "trajectory_outcome is .*, none of"),
        ({"trajectory_summary": 3}, "trajectory_summary is 3, not a text"),
        ({"trajectory_summary": None}, "trajectory_summary is null, not a text"),
        ({"root_cause_analysis": {"why": 1}}, "root_cause_analysis is .*, not a text"),
        ({"improvement_suggestion": "  "}, "improvement_suggestion is empty"),
        (
            {"improvement_suggestion": None},
            "improvement_suggestion is null; it is a text where the outcome is failure",
        ),
        (
            {"improvement_suggestion": "x" * (LONGEST_TEXT + 1)},
            f"improvement_suggestion has 4001 characters; at most {LONGEST_TEXT}",
        ),
        ({"retry_from_step": None}, "retry_from_step is null, not a whole number"),
        (
            SUCCESS | {"improvement_suggestion": "more"},
            'improvement_suggestion is "more"; it is null where the outcome is success',
        ),
        (
            SUCCESS | {"retry_from_step": 0},
            "retry_from_step is 0; it is null where the outcome is success",
        ),
    ],
)
def test_every_violation_is_told_in_one_line(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(UnreadableError, match=f"^{problem}") as caught:
        parsed_reflection(reply(**changes), 5)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", KEYS)
def test_a_missing_key_is_named(key: str) -> None:
    with pytest.raises(UnreadableError, match=f"^the JSON object lacks {key}$"):
        parsed_reflection(json.dumps({k: v for k, v in GOOD.items() if k != key}), 5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot say.",
        "{}",
        '{"answer": 1}',
        "{" * 5000,
        "[[[[" * 5000,
        '{"trajectory_summary": "cut o',
    ],
)
def test_a_reply_without_one_says_which_keys_are_wanted(text: str) -> None:
    with pytest.raises(
        UnreadableError, match="holds no JSON object with the keys trajectory_summary, "
    ):
        parsed_reflection(text, 5)


def test_a_success_asks_for_no_retry() -> None:
    found = parsed_reflection(json.dumps(SUCCESS | {"root_cause_analysis": None}), 5)
    assert (found.trajectory_outcome, found.improvement_suggestion, found.retry_from_step) == (
        "success",
        None,
        None,
    )


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=20)
    | st.sampled_from(["failure", "success", "2"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.mark.slow
@given(
    st.fixed_dictionaries({key: values for key in KEYS}), st.text(max_size=30), st.integers(1, 9)
)
def test_whatever_a_reply_holds_it_is_valid_or_unreadable(
    content: dict[str, Any], prose: str, turns: int
) -> None:
    try:
        found = parsed_reflection(prose + json.dumps(content) + prose, turns)
    except UnreadableError:
        return
    success = found.trajectory_outcome == "success"
    assert (found.improvement_suggestion is None) is success
    assert (found.retry_from_step is None) is success
    assert success or (type(found.retry_from_step) is int and 0 <= found.retry_from_step < turns)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(UnreadableError):
        parsed_reflection(text, 3)


UNSOLVED: list[dict[str, Any]] = [
    {"outcome": Outcome.FAILURE, "termination": Termination.DONE, "reward": 0.0},
    {"outcome": Outcome.TRUNCATED, "termination": Termination.TURN_LIMIT, "reward": 0.0},
]


@pytest.mark.parametrize("ended", UNSOLVED)
@pytest.mark.parametrize("turns", [1, 4])
def test_what_fits_the_form_of_an_unsolved_attempt_can_be_read(
    ended: dict[str, Any], turns: int
) -> None:
    """Whatever a server that holds to the form lets through, at both ends of each range."""
    attempt = make_trajectory(turns=turns, **ended)
    schema = form_of(attempt)["json_schema"]["schema"]
    assert schema["required"] == list(KEYS)
    assert schema["properties"]["trajectory_outcome"]["enum"] == ["failure"]
    steps = schema["properties"]["retry_from_step"]
    assert (steps["minimum"], steps["maximum"]) == (0, turns - 1)
    for step in {steps["minimum"], steps["maximum"]}:
        read = parsed_reflection(json.dumps(GOOD | {"retry_from_step": step}), turns)
        assert read.retry_from_step == step
    longer = form_of(make_trajectory(turns=9, **ended))
    assert longer["json_schema"]["schema"]["properties"]["retry_from_step"]["maximum"] == 8
    assert steps["maximum"] == turns - 1, "one attempt's form is no other's"


def test_a_solved_attempt_may_be_called_a_success_or_inefficient() -> None:
    schema = form_of(make_trajectory())["json_schema"]["schema"]
    assert set(schema["properties"]["trajectory_outcome"]["enum"]) >= {
        "success",
        "success_but_inefficient",
    }
