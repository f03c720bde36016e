"""Who diagnoses: a model, or rules; and whether it looked at gold."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from synth.engine.asking import RoleClient, RoleRequest
from synth.engine.context import Role
from synth.ledger.role_reply import RoleReply
from synth.schemas.model import Completion
from synth.schemas.outcome import Fault
from synth.schemas.trajectory import Trajectory
from synth.synthesizers.reflection.price import Tokens
from synth.synthesizers.reflection.question import reflection_messages
from synth.synthesizers.reflection.reflection import Reflection, parsed_reflection
from synth.synthesizers.reflection.rules import blind_reflection, informed_reflection

ReflectorName = Literal["model", "rules", "rules_blind"]
MOST_TOKENS = 4096
"""Of a reflection, where the role's settings do not say."""


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
        def read(completion: Completion) -> Reflection:
            return parsed_reflection(completion.content or "", len(trajectory.turns))

        question = RoleRequest(
            purpose="reflection",
            subject_id=trajectory.trajectory_id,
            task_id=trajectory.task_id,
            messages=reflection_messages(
                trajectory, lessons, trajectory.check_result if evidence else None
            ),
            sampling=sampling,
        )
        answer = await asking.ask(question, read)
        if answer.value is not None:
            return Reflected(answer.value, replies=answer.replies)
        if answer.fault is not None:
            return Reflected(
                None,
                f"reflector_fault:{answer.fault.fault}",
                answer.fault.detail,
                answer.replies,
                answer.fault.fault,
            )
        if answer.unreadable is not None:
            return Reflected(None, "unreadable_reflection", answer.unreadable, answer.replies)
        return Reflected(replies=answer.replies)

    return reflect
