"""Prepares the turn that an attempt puts before the recorded one, by its strategy."""

from collections.abc import Sequence
from functools import partial
from random import Random

import msgspec

from synth.boundary import guard_async
from synth.engine.study.alternatives import Ask
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas import Act, AgentTurn, Fault, SampledBy, ToolCall
from synth.synthesizers.failures.context import InjectionContext
from synth.synthesizers.failures.mistakes.modes import RULES
from synth.synthesizers.failures.mistakes.observation_faults import PLANTS, call_of
from synth.synthesizers.failures.mistakes.point import InjectionPoint, Mistake, same_act
from synth.synthesizers.failures.mistakes.transcript import InjectionTranscript
from synth.synthesizers.failures.planning import InjectionPlan
from synth.synthesizers.failures.roles import (
    DRAWS,
    gives_away,
    injector_question,
    read_instruction,
    read_mistake,
    rewritten,
)
from synth.synthesizers.rejected import RejectedError
from synth.text.failure_modes import NATURAL

INJECTED_MASK = "injected"


class PreparedInjection(msgspec.Struct, frozen=True, kw_only=True):
    """The act to put, and its description (`what`).

    `answered`: the call whose answer is altered; `wrong`: the false value in it. `instruction`: the
    text that the agent read when it did it.
    """

    put: ForcedAct
    what: str
    answered: ToolCall | None = None
    wrong: str | None = None
    instruction: str | None = None


async def prepared(context: InjectionContext, plan: InjectionPlan) -> PreparedInjection:
    """Prepares the act by the attempt's strategy. Raises `RejectedError` where there is none or it
    equals the recorded one, which would be a label without an injection; and `FaultError`.
    """

    site = InjectionPoint(InjectionTranscript(context.state.parent), plan.turn)
    instruction: str | None = None

    match plan.strategy:
        case "natural":
            return await _natural(context)
        case "environment":
            return _planted(site, plan)
        case "role":
            question = injector_question(site, "turn", plan.mode, plan.ordinal)
            read = partial(read_mistake, site=site)
            mistake: Mistake | None = await context.ask("injector", question, read)
        case "prompt":
            question = injector_question(site, "text", plan.mode, plan.ordinal)
            told = await context.ask("injector", question, read_instruction)
            instruction = told.instruction
            mistake = Mistake(await _misled(context, site, instruction), told.description)
        case _:
            site.affordances = await _affordances(context, plan)
            mistake = RULES[plan.mode](site, Random(plan.seed))

    if mistake is None:
        raise RejectedError("applies_not")

    if same_act(mistake.turn, site.turn):
        raise RejectedError("equal")

    act = Act(turn=mistake.turn, sampled_by=SampledBy.INJECTED)
    put = ForcedAct(act=act, mask=INJECTED_MASK, injected=plan.mode)

    return PreparedInjection(put=put, what=mistake.what, instruction=instruction)


async def _misled(context: InjectionContext, site: InjectionPoint, text: str) -> AgentTurn:
    """Lets the agent act after it has read the injector's text; takes the first act that differs
    from the recorded one and shows nothing of the text.
    """

    state = context.state
    player = context.shard.player

    def taken(acts: Sequence[AgentTurn]) -> list[AgentTurn]:
        others = (act for act in acts if not same_act(act, site.turn))
        return [act for act in others if not gives_away(act, text, site.twin, site.index)]

    ask = Ask(context.shard, state, context.result)
    drawn = await ask.drawn(
        player,
        DRAWS,
        lambda acts: bool(taken(acts)),
        messages=rewritten(state.shown_to(player.role), text),
        purpose="prompted",
    )

    found = taken(drawn.acts)

    if found:
        return found[0]

    context.result.open |= ask.open
    unmoved = all(same_act(act, site.turn) for act in drawn.acts)
    raise RejectedError(drawn.lost or ("not_misled" if unmoved else "gives_away"))


async def _natural(context: InjectionContext) -> PreparedInjection:
    """Samples the policy until an act differs from the recorded one."""
    settings = context.settings
    ask = Ask(context.shard, context.state, context.result)
    others = await ask.alternatives(
        [context.shard.player],
        samples=settings.natural_draws,
        temperature=settings.natural_temperature,
    )

    if not others:
        context.result.open |= ask.open
        raise RejectedError(ask.lost or "no_natural_error")

    return PreparedInjection(
        put=ForcedAct(act=others[0].act, mask=INJECTED_MASK, injected=NATURAL),
        what="the policy's own act, where it did another one than before",
    )


def _planted(site: InjectionPoint, plan: InjectionPlan) -> PreparedInjection:
    """Repeats the recorded act, and alters its answer."""
    planting = PLANTS[plan.mode](site, Random(plan.seed))
    if planting is None:
        raise RejectedError("applies_not")

    put = ForcedAct(
        act=recorded_act(site.turn),
        mask=PREFIX_MASK,
        injected=f"environment:{plan.mode}",
        alter=planting.altered,
    )

    answered = call_of(site.turn, planting.old)

    return PreparedInjection(put=put, what=planting.what, answered=answered, wrong=planting.wrong)


async def _affordances(context: InjectionContext, plan: InjectionPlan) -> Sequence[AgentTurn]:
    """The possible actions at the turn, which only FM-2.3 looks at; none where the environment does
    not list them.
    """

    if plan.mode != "FM-2.3" or not context.able("affordances"):
        return ()
    async with context.placed(plan.turn) as env:
        return await guard_async(
            Fault.ENVIRONMENT, "affordances", env.affordances, context.patience
        )
