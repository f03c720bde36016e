"""The outcome table written out once more by hand, and the records that it forbids."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.schemas.canonical import canonical_json, content_hash, valid_text
from synth.schemas.outcome import Fault, Outcome, Termination, settle
from synth.schemas.trajectory import ToolCall, Trajectory

# termination -> (check passed, check failed, no verdict), as letters: s f t u; the column under a
# fault is invalid throughout
EXPECTED = {
    "done": "sfu",
    "agent_stop": "sfu",
    "unreported": "sfu",
    "turn_limit": "ttt",
    "token_limit": "ttt",
    "context_limit": "ttt",
    "time_limit": "ttt",
    "stuck": "ttt",
    "refused": "uuu",
}
LETTER = {"s": "success", "f": "failure", "t": "truncated", "u": "unknown"}
FAULTS = [
    "model",
    "parser",
    "environment",
    "user_simulator",
    "judge",
    "timeout",
    "infrastructure",
    "drift",
    "budget",
]
VERDICTS = (True, False, None)


def test_every_termination_and_fault_is_in_the_table() -> None:
    assert {t.value for t in Termination} == {*EXPECTED, "fault"}
    assert [f.value for f in Fault] == FAULTS


@pytest.mark.parametrize(("termination", "verdict"), list(product(EXPECTED, VERDICTS)))
def test_without_a_fault_the_table_decides(termination: str, verdict: bool | None) -> None:
    expected = LETTER[EXPECTED[termination][VERDICTS.index(verdict)]]
    assert settle(Termination(termination), verdict, None) == expected


@pytest.mark.parametrize(("fault", "verdict"), list(product(FAULTS, VERDICTS)))
def test_a_fault_is_invalid_whatever_the_check_says(fault: str, verdict: bool | None) -> None:
    assert settle(Termination.FAULT, verdict, Fault(fault)) == "invalid"


@pytest.mark.parametrize(("termination", "fault"), [*product(EXPECTED, FAULTS), ("fault", None)])
def test_a_fault_and_another_ending_exclude_each_other(termination: str, fault: str | None) -> None:
    for verdict in VERDICTS:
        with pytest.raises(ValueError, match="a fault ends an episode"):
            settle(Termination(termination), verdict, None if fault is None else Fault(fault))


def build(
    outcome: Outcome, termination: Termination, fault: Fault | None, reward: float | None
) -> Trajectory:
    return Trajectory(
        trajectory_id="t1",
        slot_id="s",
        attempt=0,
        task_id="k",
        env="e",
        trial=0,
        synthesizer="rollout",
        policy="p",
        outcome=outcome,
        termination=termination,
        fault=fault,
        reward=reward,
    )


def allowed(outcome: str, termination: str, fault: str | None, reward: float | None) -> bool:
    """The table read backwards, independently of `contradiction`."""
    if termination == "fault" or fault is not None or outcome == "invalid":
        return (
            termination == "fault" and fault is not None and outcome == "invalid" and reward is None
        )
    return outcome in {LETTER[letter] for letter in EXPECTED[termination]}


@pytest.mark.parametrize(("outcome", "termination"), list(product(Outcome, Termination)))
def test_exactly_the_records_of_the_table_can_be_built(
    outcome: Outcome, termination: Termination
) -> None:
    for fault, reward in product([None, *Fault], [None, 0.0, 1.0]):
        if allowed(outcome, termination, fault, reward):
            assert build(outcome, termination, fault, reward).outcome is outcome
        else:
            with pytest.raises(ValueError, match="trajectory t1: "):
                build(outcome, termination, fault, reward)


@pytest.mark.parametrize(
    "arguments", ["{}", '{"a": 1}', ' {"ü": [1, null]} ', '{"a": "\\ud83d\\ude00"}']
)
def test_arguments_that_are_a_json_object_have_no_error(arguments: str) -> None:
    call = ToolCall.received("c", "f", arguments)
    assert (call.arguments, call.parse_error) == (arguments, None)
    assert isinstance(call.parsed(), dict)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "null",
        "[]",
        '"text"',
        "{'a': 1}",
        '{"a": 1',
        '{"a": NaN}',
        "\ud800",
        "[" * 5000,
        '{"a":' * 5000,
    ],
)
def test_arguments_that_are_no_json_object_are_kept_with_a_reason(arguments: str) -> None:
    call = ToolCall.received("c", "f", arguments)
    assert call.arguments == arguments
    assert call.parse_error is not None
    with pytest.raises(ValueError, match="arguments are not a JSON object"):
        call.parsed()


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        st.integers(-(2**60), 2**60) | st.booleans(),
    )
)
def test_the_hash_of_a_value_does_not_depend_on_the_order_of_its_keys(
    value: dict[str, Any],
) -> None:
    turned: Mapping[str, Any] = dict(reversed(value.items()))
    assert canonical_json(turned) == canonical_json(value)
    assert content_hash(turned) == content_hash(value)


def test_canonical_json_is_sorted_without_white_space_and_its_hash_is_fixed() -> None:
    assert canonical_json({"b": [1, None], "a": "ü"}) == '{"a":"ü","b":[1,null]}'.encode()
    assert content_hash({"b": [1, None], "a": "ü"}) == content_hash({"a": "ü", "b": [1, None]})
    assert len(content_hash({})) == 24
    assert content_hash({"a": 1}) != content_hash({"a": "1"})


@given(st.text())
def test_valid_text_can_be_encoded_and_leaves_valid_text_alone(text: str) -> None:
    valid = valid_text(text)
    valid.encode()
    has_surrogates = any("\ud800" <= c <= "\udfff" for c in text)
    assert has_surrogates or valid == text


def test_each_lone_surrogate_becomes_one_replacement_character() -> None:
    assert valid_text("a\ud800b\udfffc") == "a\ufffdb\ufffdc"
    assert valid_text("\ud83d\ude00") == "😀"
