"""Samples other acts at a recorded state from the flow's roles."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import msgspec

from synth.engine.asking import RoleRequest
from synth.engine.study.player import Player
from synth.engine.study.shard import ShardContext, UnitResult
from synth.engine.study.step_effect import DecisionState, continued
from synth.rollout.slots import RETRIED_BY_A_RERUN
from synth.schemas import Act, AgentTurn, Authorship, Completion, Message, content_hash
from synth.text.transcript.acts import act_digest

PURPOSE = "alternative"
EXPERT = "expert"
"""The policy that plays the environment's own plan, and the capability that it needs."""


class Proposal(msgspec.Struct, frozen=True):
    """An alternative act, the source that proposes it, and who wrote it."""

    turn: AgentTurn
    source: str = "rule"
    authorship: Authorship = Authorship.SCRIPTED

    @property
    def act(self) -> Act:
        """The act, to be put in the policy's place."""
        return Act(turn=self.turn)

    def described(self) -> Mapping[str, Any]:
        """The columns of a label about the tested act."""
        return {
            "alternative": self.turn,
            "alternative_digest": act_digest(self.turn),
            "alternative_from": self.source,
            "alternative_authorship": self.authorship.value,
        }


class Drawn(msgspec.Struct, frozen=True):
    """The acts of `asked` samples. `lost` names a fault that took some; `open`: a ceiling did, or a
    fault that may pass.
    """

    acts: Sequence[AgentTurn]
    asked: int = 0
    lost: str | None = None
    open: bool = False


def merged(
    own: AgentTurn, sources: Sequence[Iterable[Proposal]], most: int
) -> tuple[Proposal, ...]:
    """Takes at most `most` acts that differ from the own one and from each other, one of each
    source in turn.
    """
    seen = {act_digest(own)}

    def unseen(source: Iterable[Proposal]) -> Iterator[Proposal]:
        for candidate in source:
            if (digest := act_digest(candidate.turn)) not in seen:
                seen.add(digest)
                yield candidate

    # lazily, so that a source looks for its next act once those before it have had their turn
    rounds = zip_longest(*map(unseen, sources))

    return tuple(one for found in rounds for one in found if one is not None)[:most]


@dataclass
class Ask:
    """Asks for other acts at a state, and adds the replies to the unit's `result`. `lost` names a
    fault that took some acts, `open`: a rerun may have more.
    """

    shard: ShardContext
    state: DecisionState
    result: UnitResult
    lost: str | None = None
    open: bool = False

    async def alternatives(
        self,
        sources: Sequence[Player],
        *,
        most: int = 1,
        samples: int = 5,
        temperature: float | None = None,
    ) -> Sequence[Proposal]:
        """Samples at most `most` acts that differ from the own one and from each other, one of each
        source in turn; `samples` are drawn of each at most.
        """
        shard, task, own = self.shard, self.state.task, self.state.own
        found = list[list[Proposal]]()

        def enough(acts: Sequence[AgentTurn]) -> bool:
            return len({act_digest(act) for act in acts} - {act_digest(own)}) >= most

        for source in sources:
            policy = source.role.policy
            same = source.role is shard.player.role and policy.deterministic
            if same or (policy.name == EXPERT and not shard.able(task, EXPERT)):
                continue  # it would do nothing else than was done there, or nothing at all

            drawn = await self.drawn(source, samples, enough, temperature=temperature)
            name = str(source.name)
            found.append([Proposal(act, name, policy.authorship) for act in drawn.acts])

        return merged(own, found, most)

    async def drawn(
        self,
        source: Player,
        samples: int,
        enough: Callable[[Sequence[AgentTurn]], bool],
        *,
        temperature: float | None = None,
        messages: Sequence[Message] | None = None,
        purpose: str = PURPOSE,
    ) -> Drawn:
        """Samples a role at the state, without guidance, until there are `enough` acts, at most
        `samples` times; a policy without a model plays on from the state in the environment.

        It samples under the role's own settings, at another `temperature` where one is given.
        `messages` replace the recorded chat that a model is shown.
        """
        if source.role.model is None:
            drawn = await self._played(source, samples)
        else:
            question = RoleRequest(
                purpose=purpose,
                subject_id=self.state.parent.trajectory_id,
                task_id=self.state.task.task_id,
                messages=self.state.shown_to(source.role) if messages is None else messages,
                tools=self.state.parent.tools,
                sampling={} if temperature is None else {"temperature": temperature},
            )
            drawn = await self._sampled(source, samples, enough, question)

        # one source that lost something is enough
        self.lost = self.lost or drawn.lost
        self.open |= drawn.open
        return drawn

    async def _sampled(
        self,
        source: Player,
        samples: int,
        enough: Callable[[Sequence[AgentTurn]], bool],
        question: RoleRequest,
    ) -> Drawn:
        """Asks a model the question, draw by draw, until there are enough acts."""
        client = self.shard.client(str(source.name), source.role)
        acts = list[AgentTurn]()

        for draw in range(1, samples + 1):
            sampling = {**question.sampling, **_own_seed(source, self.state, draw)}
            one = msgspec.structs.replace(question, sampling=sampling, draw=draw)
            answer = await client.ask(one, _as_turn)
            self.result.replies += answer.replies

            if answer.value is None and answer.unreadable is None:
                lost = "not_started" if answer.fault is None else "faults"
                return Drawn(acts, draw - 1, lost, open=True)

            # a model that was asked again was told what its act is to be like
            if answer.value is not None and len(answer.replies) == 1 and _acts(answer.value):
                acts.append(answer.value)

            if enough(acts):
                return Drawn(acts, draw)

        return Drawn(acts, samples)

    async def _played(self, source: Player, samples: int) -> Drawn:
        """Plays once if the policy is deterministic, else `samples` times."""
        shard, state = self.shard, self.state

        # one turn, without the user that would answer it
        role = replace(source.role, user=None)
        one_turn = source.limits.model_copy(update={"max_turns": state.turn + 1})
        player = replace(source, role=role, limits=one_turn, synthesizer=PURPOSE)

        draws = range(1, 2 if role.policy.deterministic else samples + 1)
        specs = [continued(shard.run, player, state, (), draw) for draw in draws]
        played = await shard.episodes.played(specs, player)

        last = {attempt.slot_id: attempt for attempt in played}
        if len(last) < len(specs):
            return Drawn((), lost="not_started", open=True)

        faults = {one.fault for one in last.values()} - {None}
        done = [one for one in last.values() if one.fault is None]
        acts = [DecisionState(one, state.task, state.turn).own for one in done]

        may_pass = bool(faults & RETRIED_BY_A_RERUN)

        return Drawn(list(filter(_acts, acts)), samples, "faults" if faults else None, may_pass)


def _own_seed(source: Player, state: DecisionState, draw: int) -> Mapping[str, int]:
    """Derives a seed for each draw where the role has one: with the same seed it would give the
    same reply each time.
    """
    seed = source.role.policy.sampling.get("seed")
    if seed is None:
        return {}

    what = [PURPOSE, seed, source.seed, state.parent.trajectory_id, state.turn, draw]
    return {"seed": int(content_hash(what, size=4), 16) & 0x7FFFFFFF}


def _as_turn(completion: Completion) -> AgentTurn:
    """A completion as a turn."""
    return AgentTurn(completion.content, completion.tool_calls, completion.thought)


def _acts(turn: AgentTurn) -> bool:
    """Whether it says or does something that can be read."""
    readable = all(call.parse_error is None for call in turn.tool_calls)
    return readable and bool(turn.tool_calls or (turn.content or "").strip())
