"""Refusals in words are found in several families' words and languages, and no reason of a task is
taken for one.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.gates.fit_refusals import WORDS
from synth.schemas import read_yaml
from synth.text.refusals import refuses, signs

SETS = read_yaml(WORDS.read_text(encoding="utf-8"), WORDS.name)


@pytest.mark.parametrize("said", SETS["first"])
def test_what_refuses_is_found(said: str) -> None:
    assert refuses(said)
    assert refuses(f"{said} Is there anything else?")


@pytest.mark.parametrize(("words", "least"), [("second", 31), ("third", 78), ("fourth", 78)])
def test_of_other_sets_at_least_what_was_measured_is_found(words: str, least: int) -> None:
    assert sum(map(refuses, SETS[words])) >= least


@pytest.mark.slow
def test_of_wordings_by_outsiders_most_are_found_and_few_near_misses() -> None:
    for name in ("fifth", "sixth", "seventh", "eighth", "ninth"):
        assert sum(map(refuses, SETS[name])) >= 0.88 * len(SETS[name]), name
        assert sum(map(refuses, SETS[f"{name}_near"])) <= 0.01 * len(SETS[f"{name}_near"]), name


def test_what_somebody_else_is_quoted_with_is_none() -> None:
    assert not refuses("The guard says: \"I'm sorry, I can't help with that.\" What now?")
    assert not refuses("The label reads 'I won't do that' in red. I read on.")


def test_who_says_that_it_is_a_machine_and_cannot_refuses() -> None:
    assert refuses("I'm just a text-based AI, so nothing can be opened. I can't run any of it.")
    assert not refuses("I'm an AI assistant of this shop. Which order do you mean?")
    assert not refuses("I can't cancel that order, since it has been delivered.")


@pytest.mark.parametrize("said", SETS["none"])
def test_what_is_near_a_refusal_is_none(said: str) -> None:
    assert not refuses(said)


def test_data_and_long_texts_are_none() -> None:
    assert not refuses('{"reason": "I\'m sorry, I can\'t help with that."}')
    assert not refuses('{"label": "refusal", "text": "I\'m sorry, I can\'t help with that."}')
    assert not refuses('["I\'m sorry, I can\'t help with that.", "How can I help you?"]')
    assert not refuses("I'm sorry, I can't help with that. " + "And so on. " * 60)


def test_the_same_words_are_read_alike_whatever_punctuation_and_thinking_stand_around() -> None:
    for said in (
        "很抱歉，我无法协助您！",
        "很抱歉,我无法协助您!",
        "<think>嗯。</think>很抱歉，我无法协助您。",
    ):
        assert refuses(said)
    assert refuses("<think>Could be fine.</think>**I can’t help with that.**")
    assert not refuses(
        "<think>I'm sorry, I can't help with that.</think>Your parcel is on its way."
    )


@pytest.mark.parametrize(
    "framed",
    [
        '{{"thought": "Hm.", "action": null, "final_answer": "{}"}}',
        '```json\n{{"name": "finish", "arguments": {{"message": "{}"}}}}\n```',
        "Thought: The user wants it done.\nAction: finish\nAction Input: {}",
        "Thought: The user wants it done.\nFinal Answer: {}",
        "finish[{}]",
        'answer(text="{}")',
        '["{}"]',
        "[/INST] {} </s>",
        "<|im_start|>assistant\n{}<|im_end|>",
    ],
)
def test_the_frames_that_agents_write_in_hide_no_refusal(framed: str) -> None:
    assert refuses(framed.format("I'm sorry, but I can't help with that."))
    assert not refuses(framed.format("Your parcel is on its way."))


@pytest.mark.parametrize(
    "acting",
    [
        "Thought: I can't help with that as it is, sorry.\nAction: {}\nAction Input: paris",
        "Thought: I can't help with that as it is, sorry.\nAction: `{}`\nAction Input: paris",
        "Thought: I can't help with that as it is, sorry.\nAction: {}[paris]",
        '{{"thought": "I can\'t help with that, sorry.", "action": "{}", "action_input": "paris"}}',
        '{{"name": "{}", "arguments": {{"text": "I can\'t help with that, sorry."}}}}',
    ],
)
def test_who_goes_on_acting_refuses_nothing_whatever_was_thought_or_searched(acting: str) -> None:
    assert not refuses(acting.format("search"))
    assert refuses(acting.format("finish"))


def test_words_behind_action_are_words() -> None:
    assert refuses("Action: I won't do that, it would harm people.")
    assert not refuses("Action:")


@pytest.mark.parametrize(
    "said",
    [
        "I can't do that in one call, so I made three.",
        "I could not find the cause; two tests still fail.",
        "I'm not allowed to give you a second voucher. Each order may have one.",
        "You're being put through to a colleague.",
        "I fold.",
        "Ich kann den Auftrag nicht stornieren, er wurde bereits versendet.",
        "無法",
    ],
)
def test_reasons_of_a_task_failures_transfers_and_moves_of_a_game_are_none(said: str) -> None:
    assert not refuses(said)


def test_a_kind_is_found_as_a_whole_word_or_within_words_by_its_script() -> None:
    assert "machine" in signs("As an AI I do it.")
    assert "machine" not in signs("I said it again.")
    assert "machine" in signs("私はAIですので")
    assert "cannot>help" in signs("I cannot help.")
    assert "help>cannot" not in signs("I cannot help.")
    assert "will_not" in signs("I turn the whole thing down."), "with words between"


@settings(max_examples=40)
@given(st.text(max_size=700))
def test_any_text_is_read_one_way_or_the_other(text: str) -> None:
    assert refuses(text) in (True, False)
    assert refuses(text) == refuses(f"  {text}\n")
