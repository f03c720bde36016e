"""Who diagnoses an attempt: a model, or rules; what a model is asked, and whether it looked at
gold.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from synth.engine.asking import RoleClient, RoleRequest, prompt
from synth.engine.context import Role
from synth.ledger.tables.role_reply import RoleReply
from synth.schemas.check import CheckResult
from synth.schemas.model import Message
from synth.schemas.outcome import Fault, Outcome
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.reflection.reflection import Reflection, parsed_reflection
from synth.synthesizers.reflection.rules import blind_reflection, informed_reflection
from synth.synthesizers.reflection.token_cost import Tokens, tokens_of_reflection
from synth.text.transcript.log import log_of

ReflectorName = Literal["model", "rules", "rules_blind"]
MOST_TOKENS = 4096
"""Of a reflection, where the role's settings do not say."""
_KNOWN = {
    Outcome.SUCCESS: "The environment has judged this attempt as solved. Say whether it was "
    "efficient.",
    Outcome.FAILURE: "The environment has judged this attempt as not solved.",
    Outcome.TRUNCATED: "This attempt was stopped by a limit ({}) before it was done; it counts as "
    "not solved.",
}


class Reflected(msgspec.Struct, frozen=True):
    """What came of asking for a reflection: the reflection, or in `reason` why there is none
    (neither: a ceiling kept it from being asked).

    `replies` are all that were received; `fault` where the reflector's server failed; `spent` what
    one that the ledger holds has used.
    """

    reflection: Reflection | None = None
    reason: str | None = None
    detail: str | None = None
    replies: tuple[RoleReply, ...] = ()
    fault: Fault | None = None
    spent: Tokens | None = None

    def tokens(self, attempt: Trajectory, lessons: Sequence[str]) -> Tokens:
        """What it has used, about an attempt that had been given these lessons."""
        if self.spent is not None:
            return self.spent
        said = "" if self.reflection is None else msgspec.json.encode(self.reflection).decode()
        return tokens_of_reflection(reflection_messages(attempt, lessons), said, self.replies)


Reflect = Callable[[Trajectory, Sequence[str]], Awaitable[Reflected]]
"""(the attempt, the lessons that it had been given) -> what came of it."""


def by_rules(name: ReflectorName) -> Reflect:
    """The rule-based reflector of that name."""
    diagnose = informed_reflection if name == "rules" else blind_reflection

    async def reflect(trajectory: Trajectory, lessons: Sequence[str]) -> Reflected:
        found = diagnose(trajectory)
        return Reflected(reason="no_diagnosis") if found is None else Reflected(found)

    return reflect


def by_model(asking: RoleClient, role: Role, *, evidence: bool) -> Reflect:
    """A model that reads the log; with `evidence` also what the check found wrong."""
    sampling = {} if role.policy.sampling.get("max_tokens") else {"max_tokens": MOST_TOKENS}

    async def reflect(trajectory: Trajectory, lessons: Sequence[str]) -> Reflected:
        gold = trajectory.check_result if evidence else None
        question = RoleRequest(
            purpose="reflection",
            subject_id=trajectory.trajectory_id,
            task_id=trajectory.task_id,
            messages=reflection_messages(trajectory, lessons, gold),
            sampling=sampling,
        )
        turns = len(trajectory.turns)
        answer = await asking.ask(question, lambda c: parsed_reflection(c.content or "", turns))
        fault, reason, detail = answer.fault, None, answer.unreadable
        if fault is not None:
            reason, detail = f"reflector_fault:{fault.fault}", fault.detail
        elif detail is not None:
            reason = "unreadable_reflection"
        code = fault.fault if fault is not None else None
        return Reflected(answer.value, reason, detail, answer.replies, code)

    return reflect


def reflection_messages(
    trajectory: Trajectory, lessons: Sequence[str], evidence: CheckResult | None = None
) -> list[Message]:
    """The chat that asks for a reflection.

    The reflector is told whether the environment judged the attempt as solved, as R3L's log has the
    reward; with `evidence` also which parts of the check failed and why, which makes what it says
    gold-informed.
    """
    unknown = "Nothing is known about whether it solved the task."
    parts = [_KNOWN.get(trajectory.outcome, unknown).format(trajectory.termination.value)]
    if lessons:
        given = (f"- {lesson}" for lesson in lessons)
        parts.append("\n".join(["Lessons that the agent had been given for this attempt:", *given]))
    if evidence is not None:
        failed = (part for part in evidence.parts if not part.passed)
        found = (f"- {part.name}: {'; '.join(part.evidence)}" for part in failed)
        parts.append("\n".join(["What the environment's check found wrong:", *found]))
    # a JSON escape stands for a fence: no text of the log ends the block that it stands in
    log = log_of(trajectory).replace("```", "\\u0060\\u0060\\u0060")
    parts += [f"The log, {len(trajectory.turns)} steps:\n```\n{log}\n```", prompt("reflector/form")]
    role = prompt("reflector/role")
    return [{"role": "system", "content": role}, {"role": "user", "content": "\n\n".join(parts)}]
