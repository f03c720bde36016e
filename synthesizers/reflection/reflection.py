"""Reflections: asks a model for one, and reads it from the reply; every key is checked, nothing is
guessed (R3L, arXiv 2601.03715).
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import msgspec

from synth.engine.asking import RoleRequest, UnreadableError, chat, prompt, response_form
from synth.engine.context import Role
from synth.engine.roles.replies import answer_text
from synth.engine.study.shard import ShardContext
from synth.ledger.tables.role_reply import RoleReply
from synth.schemas import CheckResult, Completion, Fault, Message, Outcome, Trajectory, valid_text
from synth.synthesizers.reflection.token_cost import Tokens, tokens_of_reflection
from synth.text.replies.answers import only_answer
from synth.text.replies.fitted import (
    NoFitError,
    as_text,
    choice,
    is_nothing,
    whole_number,
)
from synth.text.transcript.log import log_of

Judged = Literal["success", "success_but_inefficient", "failure"]
ReflectorName = Literal["model", "rules", "rules_blind"]
LONGEST_TEXT = 4000
"""The most characters of one field: hidden guidance is a lesson, not a transcript."""
MOST_TOKENS = 4096
"""The longest reflection, unless the role's settings say otherwise."""
_KNOWN = {
    Outcome.SUCCESS: "The environment has judged this attempt as solved. Say whether it was "
    "efficient.",
    Outcome.FAILURE: "The environment has judged this attempt as not solved.",
    Outcome.TRUNCATED: "This attempt was stopped by a limit ({}) before it was done; it counts as "
    "not solved.",
}


class Reflection(msgspec.Struct, frozen=True):
    """A diagnosis in the five fields of R3L. `improvement_suggestion` and `retry_from_step` are
    None iff the outcome is `success`.
    """

    trajectory_summary: str
    root_cause_analysis: str | None
    trajectory_outcome: Judged
    improvement_suggestion: str | None
    retry_from_step: int | None


KEYS = Reflection.__struct_fields__


class Diagnosis(msgspec.Struct, frozen=True):
    """The same of an attempt that the world judged as not solved: nothing is left open, so that no
    key contradicts another.
    """

    trajectory_summary: str
    root_cause_analysis: str
    trajectory_outcome: Literal["failure"]
    improvement_suggestion: str
    retry_from_step: Annotated[int, msgspec.Meta(ge=0)]


FORM = response_form("reflection", Reflection)
UNSOLVED = response_form("reflection", Diagnosis)


def form_of(attempt: Trajectory) -> Mapping[str, Any]:
    """The form of a reflection on an attempt, which a server holds the reply to.

    A schema cannot say that two keys are null if and only if a third has one value: a small model
    held to `FORM` contradicted itself in 14 of 14 reflections on failed attempts. What is known of
    the attempt says which of the two it is, and how many steps there are to go back to.
    """
    if attempt.outcome not in (Outcome.FAILURE, Outcome.TRUNCATED):
        return FORM
    form = deepcopy(dict(UNSOLVED))
    steps = form["json_schema"]["schema"]["properties"]["retry_from_step"]
    steps["maximum"] = max(len(attempt.turns) - 1, 0)
    return form


class Reflected(msgspec.Struct, frozen=True):
    """A reflection, or in `reason` why there is none (neither: a ceiling kept it from being asked).

    `replies`: all that were received; `fault`: where the reflector's server failed; `spent`: the
    tokens of a reflection that the ledger holds.
    """

    reflection: Reflection | None = None
    reason: str | None = None
    detail: str | None = None
    replies: tuple[RoleReply, ...] = ()
    fault: Fault | None = None
    spent: Tokens | None = None

    def tokens(self, attempt: Trajectory, lessons: Sequence[str]) -> Tokens:
        """The tokens that it used, about an attempt that had been given these lessons."""
        if self.spent is not None:
            return self.spent
        said = "" if self.reflection is None else msgspec.json.encode(self.reflection).decode()
        return tokens_of_reflection(reflection_messages(attempt, lessons), said, self.replies)


Reflect = Callable[[ShardContext, Trajectory, Sequence[str]], Awaitable[Reflected]]
"""(the shard, the attempt, the lessons that it had been given) -> a reflection on it."""


@dataclass(frozen=True, slots=True)
class Reflector:
    """Asks a model that reads the log, with `evidence` also the findings of the check."""

    name: str
    role: Role
    evidence: bool

    async def __call__(
        self, shard: ShardContext, attempt: Trajectory, lessons: Sequence[str]
    ) -> Reflected:
        """Diagnoses an attempt that had been given these lessons."""
        evidence = attempt.check_result if self.evidence else None
        given = self.role.policy.sampling.get("max_tokens")
        question = RoleRequest(
            purpose="reflection",
            subject_id=attempt.trajectory_id,
            task_id=attempt.task_id,
            messages=reflection_messages(attempt, lessons, evidence),
            sampling={} if given else {"max_tokens": MOST_TOKENS},
            form=form_of(attempt),
        )

        def read(completion: Completion) -> Reflection:
            return parsed_reflection(answer_text(completion), len(attempt.turns))

        answer = await shard.client(self.name, self.role).ask(question, read)
        fault = answer.fault

        if fault is not None:
            broken = f"reflector_fault:{fault.fault}"
            return Reflected(None, broken, fault.detail, answer.replies, fault.fault)

        reason = None if answer.unreadable is None else "unreadable_reflection"

        return Reflected(answer.value, reason, answer.unreadable, answer.replies)


def reflection_messages(
    trajectory: Trajectory,
    lessons: Sequence[str],
    evidence: CheckResult | None = None,
) -> list[Message]:
    """The chat that asks for a reflection.

    It tells the reflector whether the environment judged the attempt as solved, as R3L's log has
    the reward; with `evidence` also which parts of the check failed and why, which makes the
    reflection gold-informed.
    """

    unknown = "Nothing is known about whether it solved the task."
    said = [_KNOWN.get(trajectory.outcome, unknown).format(trajectory.termination.value)]

    if lessons:
        given = (f"- {lesson}" for lesson in lessons)
        said.append("\n".join(["Lessons that the agent had been given for this attempt:", *given]))

    if evidence is not None:
        failed = (part for part in evidence.parts if part.passed is False)
        found = (f"- {part.name}: {'; '.join(part.evidence)}" for part in failed)
        said.append("\n".join(["What the environment's check found wrong:", *found]))

    # a JSON escape stands for a fence: no text of the log ends the block that it stands in
    log = log_of(trajectory).replace("```", "\\u0060\\u0060\\u0060")
    said.append(f"The log, {len(trajectory.turns)} steps:\n```\n{log}\n```")

    return chat(prompt("reflector/role"), *said, prompt("reflector/form"))


def parsed_reflection(reply: str, turns: int) -> Reflection:
    """Reads the reflection on an attempt of `turns` turns: the one JSON object in the reply that
    has its keys.

    Raises `UnreadableError` with the first error, in words that the model can act on.
    """

    try:
        value = only_answer(reply, KEYS)
    except NoFitError as error:
        raise UnreadableError(str(error)) from error
    if value is None:
        raise UnreadableError(f"it holds no JSON object with the keys {', '.join(KEYS)}")

    missing = [key for key in KEYS if key not in value]
    if missing:
        raise UnreadableError(f"the JSON object lacks {', '.join(missing)}")

    known = get_args(Judged)
    outcome = choice(value["trajectory_outcome"], known)
    if outcome not in known:
        wrong = f"trajectory_outcome is {_short(outcome)}"
        raise UnreadableError(f"{wrong}, none of {', '.join(known)}")

    summary = _text(value, "trajectory_summary")
    cause = (
        None if is_nothing(value["root_cause_analysis"]) else _text(value, "root_cause_analysis")
    )
    if outcome == "success":
        for key in ("improvement_suggestion", "retry_from_step"):
            if not is_nothing(value[key]):
                raise UnreadableError(
                    f"{key} is {_short(value[key])}; it is null where the outcome is success"
                )

        return Reflection(summary, cause, outcome, None, None)

    if is_nothing(value["improvement_suggestion"]):
        raise UnreadableError(
            f"improvement_suggestion is null; it is a text where the outcome is {outcome}"
        )

    advice = _text(value, "improvement_suggestion")
    return Reflection(summary, cause, outcome, advice, _step(value["retry_from_step"], turns))


def _step(value: Any, turns: int) -> int:
    """Reads a whole number, or a text that names one with a word before it at most; booleans and
    fractions are none.
    """

    value = whole_number(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise UnreadableError(f"retry_from_step is {_short(value)}, not a whole number")

    if not 0 <= value < turns:
        raise UnreadableError(f"retry_from_step is {value}; the steps are 0 to {turns - 1}")

    return value


def _text(value: Mapping[str, Any], key: str) -> str:
    """A text of the reply, stripped. Raises `UnreadableError` for one that is empty or too long."""
    text = as_text(value[key])
    if not isinstance(text, str):
        raise UnreadableError(f"{key} is {_short(text)}, not a text")

    if not text.strip():
        raise UnreadableError(f"{key} is empty")

    if len(text) > LONGEST_TEXT:
        raise UnreadableError(
            f"{key} has {len(text)} characters; at most {LONGEST_TEXT} are allowed"
        )

    return valid_text(text.strip())


def _short(value: Any) -> str:
    """A value as short JSON, for an error."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
