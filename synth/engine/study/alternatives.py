"""Other acts at a recorded state, sampled from a role."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec

from synth.engine.asking import RoleClient, RoleRequest
from synth.engine.context import Role
from synth.engine.study.continuations import Continuations
from synth.engine.study.player import DecisionState, Player, Proposal
from synth.engine.study.step_effect import continued
from synth.ledger.tables.role_reply import RoleReply
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas.canonical import content_hash
from synth.schemas.environment import AgentTurn, Opening
from synth.schemas.messages import view_messages
from synth.schemas.model import Completion, Message
from synth.text.transcript.acts import act_digest

PURPOSE = "alternative"


class SampledActs(msgspec.Struct, frozen=True):
    """What came of asking for alternatives. `lost` names a fault that took some; `open`: a ceiling
    did, or a fault that may pass.
    """

    alternatives: tuple[Proposal, ...]
    replies: tuple[RoleReply, ...] = ()
    lost: str | None = None
    open: bool = False


class Drawn(msgspec.Struct, frozen=True):
    """The acts among `asked` replies of a chat model that say or do something; `lost` and `open` as
    of `SampledActs`.
    """

    acts: tuple[AgentTurn, ...]
    asked: int
    replies: tuple[RoleReply, ...] = ()
    lost: str | None = None
    open: bool = False


def merged(
    own: AgentTurn, sources: Sequence[Iterable[Proposal]], most: int
) -> tuple[Proposal, ...]:
    """At most `most` acts that differ from the own one and from each other: one of each source in
    turn.
    """
    queues = [list(source) for source in sources]
    seen, found = {act_digest(own)}, list[Proposal]()
    while any(queues) and len(found) < most:
        for queue in queues:
            while queue:
                candidate = queue.pop(0)
                if (digest := act_digest(candidate.turn)) not in seen:
                    seen.add(digest)
                    found.append(candidate)
                    break
    return tuple(found[:most])


async def asked_for(
    asking: RoleClient,
    state: DecisionState,
    seed: int,
    most: int,
    samples: int,
    *,
    temperature: float | None = None,
) -> SampledActs:
    """Acts of a chat model at the state: until `most` differ from the own act, at most `samples`
    times.
    """
    own, authorship = act_digest(state.own), asking.role.policy.authorship
    found: dict[str, Proposal] = {}

    def enough(acts: Sequence[AgentTurn]) -> bool:
        for act in acts[-1:]:
            if act_digest(act) != own:
                found.setdefault(act_digest(act), Proposal(act, asking.name, authorship))
        return len(found) == most

    drawn = await drawn_acts(asking, state, seed, samples, enough, temperature=temperature)
    return SampledActs(tuple(found.values()), drawn.replies, drawn.lost, drawn.open)


async def drawn_acts(
    asking: RoleClient,
    state: DecisionState,
    seed: int,
    samples: int,
    enough: Callable[[Sequence[AgentTurn]], bool],
    *,
    temperature: float | None = None,
    messages: Sequence[Message] | None = None,
    purpose: str = PURPOSE,
) -> Drawn:
    """Samples a chat model at the state, without guidance, until there are `enough`, at most
    `samples` times.

    Under the role's own sampling, at another `temperature` where one is given. `messages`: what it
    is shown in place of the recorded chat.
    """
    parent = state.parent
    shown = messages if messages is not None else shown_at(asking.role, state)
    acts: list[AgentTurn] = []
    replies: list[RoleReply] = []
    for draw in range(1, samples + 1):
        question = RoleRequest(
            purpose=purpose,
            subject_id=parent.trajectory_id,
            task_id=state.task.task_id,
            messages=shown,
            tools=parent.tools,
            sampling={
                **_own_seed(asking.role, state, seed, draw),
                **({} if temperature is None else {"temperature": temperature}),
            },
            draw=draw,
        )
        answer = await asking.ask(question, _as_turn)
        replies += answer.replies
        if answer.value is None and answer.unreadable is None:
            lost = "not_started" if answer.fault is None else "faults"
            return Drawn(tuple(acts), draw - 1, tuple(replies), lost, open=True)
        if answer.value is not None and len(answer.replies) == 1 and _acts(answer.value):
            acts.append(answer.value)
        if enough(acts):
            return Drawn(tuple(acts), draw, tuple(replies))
    return Drawn(tuple(acts), samples, tuple(replies))


def shown_at(role: Role, state: DecisionState) -> list[Message]:
    """The chat that a role's model is shown at the state."""
    parent = state.parent
    opening = Opening(parent.system_prompt, parent.tools, parent.opening, parent.opening_state_key)
    return view_messages(
        opening,
        parent.turns[: state.turn],
        thoughts=bool(role.policy.identity.get("send_thoughts")),
    )


def _own_seed(role: Role, state: DecisionState, seed: int, draw: int) -> Mapping[str, float]:
    """A fixed seed in the role's sampling would give the same reply each time."""
    drawn = role.policy.sampling.get("seed")
    if drawn is None:
        return {}
    what = [PURPOSE, drawn, seed, state.parent.trajectory_id, state.turn, draw]
    return {"seed": int(content_hash(what, size=4), 16) & 0x7FFFFFFF}


def _as_turn(completion: Completion) -> AgentTurn:
    return AgentTurn(completion.content, completion.tool_calls, completion.thought)


def _acts(turn: AgentTurn) -> bool:
    """Whether it says or does something that can be read."""
    readable = all(call.parse_error is None for call in turn.tool_calls)
    return readable and bool(turn.tool_calls or (turn.content or "").strip())


async def played_there(
    shared: Continuations, source: Player, state: DecisionState, samples: int
) -> SampledActs:
    """What a policy without a model does at the state, in a world put into it: once if it is
    deterministic, else `samples` times.
    """
    role = replace(source.role, user=None)
    one_turn = source.limits.model_copy(update={"max_turns": state.turn + 1})
    player = replace(source, role=role, limits=one_turn, synthesizer=PURPOSE)
    draws = range(1, 2 if role.policy.deterministic else samples + 1)
    works = [continued(shared.run, player, state, None, draw) for draw in draws]
    played = await shared.played(works, None, source.places)
    attempts = {attempt.slot_id: attempt for attempt in played}
    if len(attempts) < len(works):
        return SampledActs((), lost="not_started", open=True)
    faults = {attempt.fault for attempt in attempts.values() if attempt.fault is not None}
    acts = [
        DecisionState(attempt, state.task, state.turn).own
        for attempt in attempts.values()
        if attempt.fault is None
    ]
    name, authorship = str(source.name), role.policy.authorship
    return SampledActs(
        tuple(Proposal(act, name, authorship) for act in acts if _acts(act)),
        lost="faults" if faults else None,
        open=bool(faults & RETRIED_BY_A_RERUN),
    )
