"""Prepares the turn that an attempt puts before the recorded one, by its strategy."""

from collections.abc import Sequence
from random import Random

import msgspec

from synth.boundary import FaultError, guard_async
from synth.engine.study.alternatives import Ask
from synth.rollout.start import PREFIX_MASK, ForcedAct, recorded_act
from synth.schemas.environment import AgentTurn
from synth.schemas.outcome import Fault
from synth.schemas.policy import Act
from synth.schemas.trajectory import SampledBy, ToolCall
from synth.synthesizers.failures.context import InjectionContext, without
from synth.synthesizers.failures.mistakes.modes import RULES
from synth.synthesizers.failures.mistakes.observation_faults import PLANTS
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
from synth.text.failure_modes import NATURAL

INJECTED_MASK = "injected"


class PreparedInjection(msgspec.Struct, frozen=True, kw_only=True):
    """The act to put and its description (`what`), or without an act the reason.

    `answered`: the call whose answer is altered; `wrong`: the false value in it. `instruction`: the
    text that the agent read when it did it.
    """

    put: ForcedAct | None = None
    what: str
    answered: ToolCall | None = None
    wrong: str | None = None
    instruction: str | None = None


async def prepared(context: InjectionContext, plan: InjectionPlan) -> PreparedInjection:
    """Prepares the act by the attempt's strategy; a fault of the machinery is a reason too."""
    site = InjectionPoint(InjectionTranscript(context.state.parent), plan.turn)
    try:
        match plan.strategy:
            case "natural":
                return await _natural(context)
            case "environment":
                return _planted(site, plan)
            case "role":
                return await _by_role(context, site, plan)
            case "prompt":
                return await _by_prompt(context, site, plan)
        site.affordances = await _affordances(context, plan)
    except FaultError as error:
        return PreparedInjection(what=context.faulted(error))

    mistake = RULES[plan.mode](site, Random(plan.seed))
    return PreparedInjection(what="applies_not") if mistake is None else _put(mistake, site, plan)


def _put(mistake: Mistake, site: InjectionPoint, plan: InjectionPlan) -> PreparedInjection:
    """Puts the mistake, unless it equals the recorded turn: that would be a label without an
    injection.
    """

    if same_act(mistake.turn, site.own):
        return PreparedInjection(what="equal")
    act = Act(turn=mistake.turn, sampled_by=SampledBy.INJECTED)
    put = ForcedAct(act=act, mask=INJECTED_MASK, injected=plan.mode)
    return PreparedInjection(put=put, what=mistake.what)


async def _by_role(
    context: InjectionContext, site: InjectionPoint, plan: InjectionPlan
) -> PreparedInjection:
    """Puts the mistake that the injector writes."""
    question = injector_question(site, "turn", plan.mode, plan.ordinal)
    answer = await context.ask("injector", question, lambda reply: read_mistake(reply, site))
    if answer.value is None:
        return PreparedInjection(what=without(answer))
    return _put(answer.value, site, plan)


async def _by_prompt(
    context: InjectionContext, site: InjectionPoint, plan: InjectionPlan
) -> PreparedInjection:
    """Lets the agent act after it has read the injector's text; takes the first act that differs
    from the recorded one and shows nothing of the text.
    """

    question = injector_question(site, "text", plan.mode, plan.ordinal)
    answer = await context.ask("injector", question, read_instruction)
    if answer.value is None:
        return PreparedInjection(what=without(answer))

    text = answer.value.instruction
    state = context.state

    def taken(acts: Sequence[AgentTurn]) -> list[AgentTurn]:
        others = (act for act in acts if not same_act(act, state.own))
        return [act for act in others if not gives_away(act, text, site.twin, plan.turn)]

    player = context.shard.player
    ask = Ask(context.shard, state, context.result)
    drawn = await ask.drawn(
        player,
        DRAWS,
        lambda acts: bool(taken(acts)),
        messages=rewritten(state.shown_to(player.role), text),
        purpose="prompted",
    )
    found = taken(drawn.acts)
    if not found:
        context.result.open |= ask.open
        misled = not all(same_act(act, state.own) for act in drawn.acts)
        unmoved = "gives_away" if misled else "not_misled"
        return PreparedInjection(what=drawn.lost or unmoved)

    ready = _put(Mistake(found[0], answer.value.description), site, plan)
    return msgspec.structs.replace(ready, instruction=text)


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
        return PreparedInjection(what=ask.lost or "no_natural_error")

    return PreparedInjection(
        put=ForcedAct(act=others[0].act, mask=INJECTED_MASK, injected=NATURAL),
        what="the policy's own act, where it did another one than before",
    )


def _planted(site: InjectionPoint, plan: InjectionPlan) -> PreparedInjection:
    """Repeats the recorded act, and alters its answer."""
    planting = PLANTS[plan.mode](site, Random(plan.seed))
    if planting is None:
        return PreparedInjection(what="applies_not")

    put = ForcedAct(
        act=recorded_act(site.turn),
        mask=PREFIX_MASK,
        injected=f"environment:{planting.kind}",
        alter=planting.altered,
    )
    answered = planting.answered(site.turn)
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
