"""Students whose probabilities are known, and what a filter's measure is given with one."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from synth.engine.budget import Breaker
from synth.filters.leaks.planted import LOOK, planted_situations
from synth.schemas import ConfigError, Message, ModelError, Scored, TokenScore, ToolSchema

SECRETS = frozenset(text for one in planted_situations() for text in one.secrets)
LESSONS = frozenset(one.lesson for one in planted_situations())
Gain = Callable[[str], float]


def knows(text: str) -> float:
    """Two nats more for what was planted as a secret, and for what a test calls secret."""
    return 2.0 if text in SECRETS or "secret" in text else 0.0


class Student:
    """Each turn is one token, at -3 nats; what stands behind a lesson (a system message in the
    middle of the chat) is likelier by `gain` of its text.
    """

    def __init__(self, gain: Gain = knows, *, refuses: Callable[[bool, bool], Any] | None = None):
        self.gain, self.refuses, self.asked = gain, refuses, 0

    async def score(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Scored:
        self.asked += 1
        told = any(message["role"] == "system" for message in messages[1:])
        planted = any(tool == LOOK for tool in tools)
        wrong = self.refuses(planted, told) if self.refuses is not None else None
        if isinstance(wrong, Exception):
            raise wrong

        turns = [str(m["content"] or "") for m in messages if m["role"] == "assistant"]
        tokens = tuple(
            TokenScore(7 if wrong is None else self.asked, -3.0 + told * self.gain(text), 1)
            for text in turns
        )
        given = wrong if isinstance(wrong, str) and wrong != "other tokens" else None
        return Scored(tokens, tuple(range(len(turns))), "h", True, given)

    async def close(self) -> None: ...


def means_with(student: Student | None, *, judge: bool = False) -> Any:
    """Means whose flow has this student, or one whose engine gives no probabilities (None)."""
    said, faults = list[str](), list[Any]()

    def scoring(name: str) -> Student:
        if student is None:
            raise ConfigError(f"{name!r} gives no probabilities")
        return student

    run = SimpleNamespace(
        role_breakers=defaultdict(Breaker),
        faulted=lambda error, role: faults.append(error),
        may_start=lambda: True,
        say_once=said.append,
    )
    return SimpleNamespace(
        run=run,
        said=said,
        faults=faults,
        has=lambda name: name == "student" or judge,
        role=lambda name: SimpleNamespace(policy=SimpleNamespace(model="small")),
        scoring=scoring,
    )


def fails(*, retryable: bool = True) -> ModelError:
    return ModelError("no answer", retryable=retryable)
