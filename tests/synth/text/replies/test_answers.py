"""Which object of a reply is its answer, and values that stand for one of another form."""

from typing import Any, Literal

import msgspec
import pytest

from synth.text.replies.answers import DIFFER, TAKEN_BACK, one_of, only_answer
from synth.text.replies.fitted import NoFitError, whole_number


class Verdict(msgspec.Struct, forbid_unknown_fields=True):
    reason: str
    step: int
    sure: bool = True
    mode: Literal["slip", "guess"] | None = None


class Call(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any]


class Acts(msgspec.Struct, forbid_unknown_fields=True):
    calls: list[Call]


def at(step: int) -> str:
    return f'{{"reason": "r", "step": {step}}}'


@pytest.mark.parametrize(
    "between",
    [
        "Wait, it begins one step earlier.",
        "Hmm, let me reconsider: the lookup was harmless.",
        "Corrected answer:",
        "I misread step 2.",
        "更正：",
        "Moment, das stimmt nicht.",
        "Rather: the one before. On second thought it is the first.",
        "That is too late; it should be step 1.",
    ],
)
def test_what_a_reply_takes_back_is_no_answer(between: str) -> None:
    assert one_of(f"{at(2)}\n\n{between}\n\n{at(1)}", Verdict)[0].step == 1
    assert only_answer(f"{at(2)}\n{between}\n{at(1)}", ["reason", "step"]) == {
        "reason": "r",
        "step": 1,
    }
    with pytest.raises(NoFitError, match=TAKEN_BACK):
        one_of(f"{at(2)}\n\n{between}", Verdict)


@pytest.mark.parametrize(
    "between",
    ["", "or", "Reading B:", "Here is another way to see it:", "Let me know which you prefer."],
)
def test_two_answers_without_a_word_of_correction_are_none(between: str) -> None:
    for read in (lambda text: one_of(text, Verdict), lambda text: only_answer(text, ["step"])):
        with pytest.raises(NoFitError, match=DIFFER):
            read(f"{at(2)}\n{between}\n{at(1)}")


@pytest.mark.parametrize(
    "behind",
    [
        "I hope it helps.",
        "Note: the agent should have asked first, which is why I chose this step.",
        "Let me know if you would like more detail.",
        "The customer waited too long, and no answer came.",
        "This should be enough. The final step was fine.",
    ],
)
def test_a_remark_behind_an_answer_takes_nothing_back(behind: str) -> None:
    assert one_of(f"{at(2)}\n\n{behind}", Verdict)[0].step == 2


def test_lines_that_a_later_paragraph_takes_back_are_no_answer() -> None:
    names = ["reason", "step"]
    lines = "step: 2\nreason: It paid.\nActually it paid twice."
    assert only_answer(lines, names) == {"step": 2, "reason": "It paid.\nActually it paid twice."}
    with pytest.raises(NoFitError, match=TAKEN_BACK):
        only_answer("step: 2\nreason: It paid.\n\nOn second thought, step: 1", names)


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("three", 3),
        ("Step Three", 3),
        ("三", 3),
        ("3 (the payment)", 3),
        ("No. 3", 3),
        ("３", 3),
        ("Schritt 3", 3),
    ],
)
def test_a_number_in_words_is_a_number(written: str, number: int) -> None:
    assert whole_number(written) == number


@pytest.mark.parametrize(
    "written",
    [
        "twenty one",
        "one hundred",
        "three or four",
        "3 (or 4)",
        "3 (or the one before)",
        "before 3",
        "not 3",
        "minus 3",
        "a few",
        "3/5",
        "third",
    ],
)
def test_what_may_be_another_number_is_none(written: str) -> None:
    assert whole_number(written) == written


@pytest.mark.parametrize(
    ("sure", "mode"), [("否", "Slip"), ("Nein.", "N/A"), ("no", "无"), (False, None)]
)
def test_words_of_other_languages_stand_for_truth_and_nothing(sure: Any, mode: Any) -> None:
    said = msgspec.json.encode({"reason": "r", "step": 0, "sure": sure, "mode": mode}).decode()
    found = one_of(said, Verdict)[0]
    assert (found.sure, found.mode) == (False, "slip" if mode == "Slip" else None)


@pytest.mark.parametrize(
    "call",
    [
        {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"n": 1}'}},
        {"type": "function", "name": "pay", "arguments": {"n": 1}},
        {"name": "pay", "parameters": {"n": 1}},
        {"name": "pay", "args": {"n": 1}},
    ],
)
def test_a_call_is_read_in_the_forms_of_families(call: Any) -> None:
    said = msgspec.json.encode({"calls": [call]}).decode()
    assert one_of(said, Acts)[0].calls == [Call("pay", {"n": 1})]


def test_a_call_with_two_sets_of_arguments_is_none() -> None:
    for call in ({"name": "pay", "args": {}, "input": {}}, {"name": "pay", "note": {}}):
        with pytest.raises(NoFitError):
            one_of(msgspec.json.encode({"calls": [call]}).decode(), Acts)
