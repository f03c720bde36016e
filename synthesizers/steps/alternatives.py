"""Other acts at a recorded state, sampled from a role."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from synth.engine.asking import RoleClient, RoleRequest
from synth.engine.context import Role
from synth.ledger.role_reply import RoleReply
from synth.models.admission import ConcurrencyLimit
from synth.rollout.episode import EpisodeSpec
from synth.rollout.limits import Limits
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.rollout.start import BranchPoint
from synth.schemas.canonical import content_hash
from synth.schemas.environment import AgentTurn, Opening
from synth.schemas.identity import slot_id
from synth.schemas.messages import view_messages
from synth.schemas.model import Completion, Message
from synth.schemas.task import Task
from synth.schemas.trajectory import Authorship, Trajectory
from synth.synthesizers.continuations import Continuations
from synth.text.transcript.acts import act_digest

PURPOSE = "alternative"


class Alternative(msgspec.Struct, frozen=True):
    """An act that could have been done instead, who proposes it, and who wrote it."""

    turn: AgentTurn
    source: str
    authorship: Authorship


class DecisionState(msgspec.Struct, frozen=True):
    """The state before turn `turn` of a recorded trajectory."""

    parent: Trajectory
    task: Task
    turn: int

    @property
    def own(self) -> AgentTurn:
        """What the policy did there."""
        turn = self.parent.turns[self.turn]
        return AgentTurn(turn.content, turn.tool_calls, turn.thought)


class Sampled(msgspec.Struct, frozen=True):
    """What came of asking for alternatives. `lost` names a fault that took some; `open`: a ceiling
    did, or a fault that may pass.
    """

    alternatives: tuple[Alternative, ...]
    replies: tuple[RoleReply, ...] = ()
    lost: str | None = None
    open: bool = False


class Drawn(msgspec.Struct, frozen=True):
    """The acts among `asked` replies of a chat model that say or do something; `lost` and `open` as
    of `Sampled`.
    """

    acts: tuple[AgentTurn, ...]
    asked: int
    replies: tuple[RoleReply, ...] = ()
    lost: str | None = None
    open: bool = False


def merged(
    own: AgentTurn, sources: Sequence[Iterable[Alternative]], most: int
) -> tuple[Alternative, ...]:
    """At most `most` acts that differ from the own one and from each other: one of each source in
    turn.
    """
    queues = [list(source) for source in sources]
    seen, found = {act_digest(own)}, list[Alternative]()
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
    name: str,
    role: Role,
    state: DecisionState,
    seed: int,
    most: int,
    samples: int,
    *,
    temperature: float | None = None,
) -> Sampled:
    """Acts of a chat model at the state: until `most` differ from the own act, at most `samples`
    times.
    """
    own = act_digest(state.own)

    found: dict[str, Alternative] = {}

    def enough(acts: Sequence[AgentTurn]) -> bool:
        for act in acts[-1:]:
            if act_digest(act) != own:
                found.setdefault(act_digest(act), Alternative(act, name, role.policy.authorship))
        return len(found) == most

    drawn = await drawn_acts(asking, role, state, seed, samples, enough, temperature=temperature)
    return Sampled(tuple(found.values()), drawn.replies, drawn.lost, drawn.open)


async def drawn_acts(
    asking: RoleClient,
    role: Role,
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
    shown = messages if messages is not None else shown_at(role, state)
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
                **_own_seed(role, state, seed, draw),
                **({} if temperature is None else {"temperature": temperature}),
            },
            draw=draw,
        )
        answer = await asking.ask(question, _as_turn)
        replies += answer.replies
        if answer.value is None and answer.unreadable is None:
            return Drawn(
                tuple(acts),
                draw - 1,
                tuple(replies),
                "not_started" if answer.fault is None else "faults",
                open=True,
            )
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
    return {
        "seed": int(
            content_hash(
                [PURPOSE, drawn, seed, state.parent.trajectory_id, state.turn, draw], size=4
            ),
            16,
        )
        & 0x7FFFFFFF
    }


def _as_turn(completion: Completion) -> AgentTurn:
    return AgentTurn(completion.content, completion.tool_calls, completion.thought)


def _acts(turn: AgentTurn) -> bool:
    """Whether it says or does something that can be read."""
    readable = all(call.parse_error is None for call in turn.tool_calls)
    return readable and bool(turn.tool_calls or (turn.content or "").strip())


async def played_there(
    shared: Continuations,
    name: str,
    role: Role,
    state: DecisionState,
    *,
    seed: int,
    samples: int,
    limits: Limits,
    places: ConcurrencyLimit,
    version: str,
) -> Sampled:
    """What a policy without a model does at the state, in a world put into it: once if it is
    deterministic, else `samples` times.
    """
    parent = state.parent
    one_turn = limits.model_copy(update={"max_turns": state.turn + 1})
    works = []
    for draw in range(1, 2 if role.policy.deterministic else samples + 1):
        slot = slot_id(
            task_id=parent.task_id,
            synthesizer=PURPOSE,
            trial=parent.trial,
            seed=seed,
            policy=role.policy.identity,
            model=None,
            sampling=role.policy.sampling,
            parent_id=parent.trajectory_id,
            pivot_turn=state.turn,
            settings={"limits": one_turn.model_dump(), "world": version, "draw": draw},
        )
        works.append(
            EpisodeSpec(
                slot_id=slot,
                task=state.task,
                trial=parent.trial,
                seed=seed,
                synthesizer=PURPOSE,
                policy=role.policy,
                limits=one_turn,
                role=name,
                start=BranchPoint(parent, state.turn),
                draw=draw,
            )
        )
    attempts = {attempt.slot_id: attempt for attempt in await shared.played(works, None, places)}
    if len(attempts) < len(works):
        return Sampled((), lost="not_started", open=True)
    valid = [attempt.turns[state.turn] for attempt in attempts.values() if attempt.fault is None]
    acts = [AgentTurn(turn.content, turn.tool_calls, turn.thought) for turn in valid]
    faults = {attempt.fault for attempt in attempts.values() if attempt.fault is not None}
    return Sampled(
        tuple(Alternative(act, name, role.policy.authorship) for act in acts if _acts(act)),
        lost="faults" if faults else None,
        open=bool(faults & RETRIED_BY_A_RERUN),
    )
