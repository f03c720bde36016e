"""A model that refuses has shown nothing: its trial ends as what it is, and is no label."""

from pathlib import Path
from typing import Any

import pytest

from synth.rollout.refusals import refused
from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.policy import Act
from synth.schemas.trajectory import ToolCall
from synth.text.refusals import refuses
from tests.synth.models.chat_brains import Body, called
from tests.synth.models.test_raw_calls import played

SORRY = "I'm sorry, but I can't assist with that."
REFUSALS = [
    SORRY,
    "I cannot help with that request.",
    "I’m sorry, I can’t help with that.",
    "Sorry, but I can't comply with this request.",
    "I am unable to provide that information.",
    "As an AI language model, I cannot do that.",
    "I won't be able to help with this.",
    "I must decline this request.",
    "Lo siento, no puedo ayudar con eso.",
    "Es tut mir leid, dabei kann ich nicht helfen.",
    "抱歉，我不能帮助你完成这个请求。",
]
ANSWERS = [
    "I cannot cancel an order that was already delivered.",
    "I'm sorry to hear that! I will refund you.",
    "I'm sorry, it cannot be returned after 30 days. Can I help with anything else?",
    "I must verify your identity first.",
    "I cannot find the order.",
    "I need to check the order first; can you provide your email?",
    "I'm sorry for the delay, let me help you with that.",
    "I'm afraid the flight was cancelled. I can provide a voucher.",
    f"{'The order was found, and it is on its way. ' * 20}{SORRY}",
    "",
]


@pytest.mark.parametrize("text", REFUSALS)
def test_words_that_refuse(text: str) -> None:
    assert refuses(text)


@pytest.mark.parametrize("text", ANSWERS)
def test_words_that_answer(text: str) -> None:
    assert not refuses(text)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": SORRY},
        {"role": "assistant", "content": None, "refusal": "No."},
    ],
)
def test_a_trial_that_is_refused_is_neither_success_nor_failure(
    message: dict[str, Any], tmp_path: Path
) -> None:
    (trial,) = played(lambda body: message, tmp_path)
    assert (trial.termination, trial.outcome) == (Termination.REFUSED, Outcome.UNKNOWN)
    assert (trial.reward, trial.fault) == (None, None)


def test_a_reply_that_a_filter_ended_is_a_refusal_unless_a_call_stands_in_it() -> None:
    call = ToolCall.received("c", "echo", "{}")
    for calls, is_one in (((), True), ((call,), False)):
        act = Act(turn=AgentTurn("", calls), finish_reason="content_filter")
        assert refused(act) is is_one
    assert not refused(Act(turn=AgentTurn(SORRY), finish_reason="stop"))


def test_an_agent_that_has_acted_is_judged_by_the_check_whatever_it_says(tmp_path: Path) -> None:
    def brain(body: Body) -> dict[str, Any]:
        acted = any(one["role"] == "tool" for one in body["messages"])
        return {"role": "assistant", "content": SORRY} if acted else called("echo", {"text": "a"})

    (trial,) = played(brain, tmp_path)
    assert trial.termination is not Termination.REFUSED
