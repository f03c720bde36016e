"""What an attempt puts before the turn, by its strategy; or the reason why it puts nothing."""

from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from synth.boundary import FaultError, guard_async
from synth.engine.asking import Answer
from synth.engine.study.alternatives import (
    asked_for,
    drawn_acts,
    merged,
    played_there,
    shown_at,
)
from synth.engine.study.placing import placed
from synth.engine.study.player import DecisionState
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Fault
from synth.schemas.policy import Act
from synth.schemas.task import Task
from synth.schemas.trajectory import SampledBy, ToolCall, Trajectory
from synth.synthesizers.failures.bench import InjectionContext
from synth.synthesizers.failures.mistake import Mistake
from synth.synthesizers.failures.observation_faults import PLANTS
from synth.synthesizers.failures.planning import InjectionPlan
from synth.synthesizers.failures.role_injector import (
    DRAWS,
    asked_for_instruction,
    asked_for_mistake,
    gives_away,
    rewritten,
)
from synth.synthesizers.failures.rules import RULES
from synth.synthesizers.failures.site import InjectionPoint, same_act
from synth.text.failure_modes import NATURAL

INJECTED_MASK = "injected"


class PreparedInjection(msgspec.Struct, frozen=True, kw_only=True):
    """The turn to put, and what is wrong with it; without one the reason, and `open` where a rerun
    may do better.

    `answered`: the call whose answer is altered; `wrong`: the false value in it. `instruction`:
    what the agent read when it did it.
    """

    put: ForcedAct | None = None
    what: str
    open: bool = False
    answered: ToolCall | None = None
    wrong: str | None = None
    instruction: str | None = None


async def prepared(
    bench: InjectionContext, planned: InjectionPlan, twin: Trajectory, task: Task
) -> PreparedInjection:
    """By the attempt's strategy. A fault of the machinery is a reason too."""
    try:
        match planned.strategy:
            case "natural":
                return await _natural(bench, planned, twin, task)
            case "environment":
                return _planted(planned, twin)
            case "role":
                return await _by_role(bench, planned, twin)
            case "prompt":
                return await _by_prompt(bench, planned, twin, task)
            case _:
                site = InjectionPoint(
                    twin, planned.turn, await _affordances(bench, planned, twin, task)
                )
                mistake = RULES[planned.mode](site, Random(planned.seed))
                return (
                    PreparedInjection(what="applies_not")
                    if mistake is None
                    else _mistaken(mistake, planned, twin)
                )
    except FaultError as error:
        bench.run.faulted(error)
        return PreparedInjection(
            what=f"fault:{error.fault}", open=error.fault in RETRIED_BY_A_RERUN
        )


def _mistaken(mistake: Mistake, planned: InjectionPlan, twin: Trajectory) -> PreparedInjection:
    """Never the recorded turn itself: that would be a label without an injection."""
    recorded = twin.turns[planned.turn]
    if same_act(mistake.turn, AgentTurn(recorded.content, recorded.tool_calls)):
        return PreparedInjection(what="equal")
    act = Act(turn=mistake.turn, sampled_by=SampledBy.INJECTED)
    return PreparedInjection(
        put=ForcedAct(act=act, mask=INJECTED_MASK, injected=planned.mode), what=mistake.what
    )


def without(answer: Answer[Any]) -> str:
    """Why a role gave nothing; only what was unreadable is its last word."""
    if answer.fault is not None:
        return f"fault:{answer.fault.fault}"
    return "unreadable" if answer.unreadable else "not_started"


async def _by_role(
    bench: InjectionContext, planned: InjectionPlan, twin: Trajectory
) -> PreparedInjection:
    answer = await asked_for_mistake(
        bench.asked["injector"], InjectionPoint(twin, planned.turn), planned.mode, planned.ordinal
    )
    bench.made.replies += [(planned.seed, reply) for reply in answer.replies]
    if answer.value is None:
        return PreparedInjection(what=without(answer), open=answer.unreadable is None)
    return _mistaken(answer.value, planned, twin)


async def _by_prompt(
    bench: InjectionContext, planned: InjectionPlan, twin: Trajectory, task: Task
) -> PreparedInjection:
    """The agent's own act where it reads what the role wrote: one that differs from the recorded
    act and shows nothing of the text.
    """
    answer = await asked_for_instruction(
        bench.asked["injector"], InjectionPoint(twin, planned.turn), planned.mode, planned.ordinal
    )
    bench.made.replies += [(planned.seed, reply) for reply in answer.replies]
    if answer.value is None:
        return PreparedInjection(what=without(answer), open=answer.unreadable is None)
    text, state = answer.value.instruction, DecisionState(twin, task, planned.turn)

    def others(acts: Sequence[AgentTurn]) -> list[AgentTurn]:
        return [act for act in acts if not same_act(act, state.own)]

    def taken(acts: Sequence[AgentTurn]) -> list[AgentTurn]:
        return [act for act in others(acts) if not gives_away(act, text, twin, planned.turn)]

    drawn = await drawn_acts(
        bench.asked["policy"],
        state,
        bench.player.seed,
        DRAWS,
        lambda acts: bool(taken(acts)),
        messages=rewritten(shown_at(bench.player.role, state), text),
        purpose="prompted",
    )
    bench.made.replies += [(planned.seed, reply) for reply in drawn.replies]
    found = taken(drawn.acts)
    if not found:
        unmoved = "gives_away" if others(drawn.acts) else "not_misled"
        return PreparedInjection(what=drawn.lost or unmoved, open=drawn.open)
    ready = _mistaken(Mistake(found[0], answer.value.description), planned, twin)
    return msgspec.structs.replace(ready, instruction=text)


async def _natural(
    bench: InjectionContext, planned: InjectionPlan, twin: Trajectory, task: Task
) -> PreparedInjection:
    """The first act of the policy's own that differs from the recorded one."""
    settings, state = bench.settings, DecisionState(twin, task, planned.turn)
    if "policy" in bench.asked:
        found = await asked_for(
            bench.asked["policy"],
            state,
            bench.player.seed,
            1,
            settings.natural_draws,
            temperature=settings.natural_temperature,
        )
    else:
        found = await played_there(bench.made.shared, bench.player, state, settings.natural_draws)
    bench.made.replies += [(planned.seed, reply) for reply in found.replies]
    others = merged(state.own, [found.alternatives], 1)
    if not others:
        return PreparedInjection(what=found.lost or "no_natural_error", open=found.open)
    act = Act(turn=others[0].turn)
    return PreparedInjection(
        put=ForcedAct(act=act, mask=INJECTED_MASK, injected=NATURAL),
        what="the policy's own act, where it did another one than before",
    )


def _planted(planned: InjectionPlan, twin: Trajectory) -> PreparedInjection:
    planting = PLANTS[planned.mode](InjectionPoint(twin, planned.turn), Random(planned.seed))
    if planting is None:
        return PreparedInjection(what="applies_not")
    turn = twin.turns[planned.turn]
    put = ForcedAct(
        act=recorded_act(turn),
        mask=PREFIX_MASK,
        injected=f"environment:{planting.kind}",
        alter=planting.alter(),
    )
    answered = next(
        (call for call in turn.tool_calls if call.call_id == planting.old.call_id), None
    )
    return PreparedInjection(put=put, what=planting.what, answered=answered, wrong=planting.wrong)


async def _affordances(
    bench: InjectionContext, planned: InjectionPlan, twin: Trajectory, task: Task
) -> Sequence[AgentTurn]:
    """What could be done at the turn, for the mode that looks for something else to do; nothing
    where the world does not say.
    """
    if planned.mode != "FM-2.3" or not bench.able(task, "affordances"):
        return ()
    patience = bench.patience
    async with placed(bench.run, task, twin, planned.turn, patience) as (env, _):
        return await guard_async(Fault.ENVIRONMENT, "affordances", env.affordances, patience)
