"""Explorations in tests: a desk brought to where writes may be made, what is done there, and the
window and task that come of it.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any

from synth.envs.storefront import WORLD
from synth.envs.storefront.env import StorefrontEnv
from synth.envs.storefront.reverse.write_goal import LOOK_UPS
from synth.envs.storefront.tools.schemas import MONEY_WRITES, WRITES
from synth.envs.storefront.tools.transcript import REFUSED
from synth.envs.transcript import Transcript, perform
from synth.schemas.environment import AgentTurn, Opening
from synth.schemas.reverse import Change, Draft, NoGoal, Operation, Window
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import Turn
from synth.synthesizers.reverse.check_predicates import changes, check_of, of_goals
from tests.envs.storefront.playing import call

FIRST_WORLDS = range(24)
ZONES = {**WORLD.spec.facts, **dict.fromkeys(WORLD.on_request, "required")}


class Desk:
    """An exploration: where it takes place, its turns, and which of them are operations."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = {"transient_rate": 0, **settings}
        env = WORLD.open(self.settings)
        assert isinstance(env, StorefrontEnv)
        self.env = env
        self.opening: Opening | None = None
        self.walk: list[Turn] = []
        self.operations: list[Operation] = []

    async def open(self) -> "Desk":
        """Sits down."""
        self.opening = await self.env.reset(None)
        return self

    async def prepare(self) -> "Desk":
        """Takes the first of what is offered until writes are."""
        await self.open()
        while not (
            offered := [
                turn for turn in await self.env.affordances() if turn.tool_calls[0].name in WRITES
            ]
        ):
            await self.look((await self.env.affordances())[0])
        assert offered
        return self

    async def look(self, turn: AgentTurn) -> Turn:
        """A turn that is no operation."""
        response = await self.env.step(turn)
        self.walk.append(Turn(len(self.walk), turn.content, turn.tool_calls, response.observations))
        return self.walk[-1]

    async def act(self, *turns: AgentTurn) -> "Desk":
        """Turns that are operations."""
        for turn in turns:
            before = await self.env.facts()
            seen = (await self.look(turn)).observations[0]
            changed: dict[str, Change] = of_goals(changes(before, await self.env.facts()), ZONES)
            denied = REFUSED.match(seen.content) if seen.error else None
            shown = (
                None
                if changed or seen.error or turn.tool_calls[0].name not in LOOK_UPS
                else (seen.content,)
            )
            self.operations.append(
                Operation(
                    len(self.walk) - 1,
                    turn,
                    changed,
                    denied[1] if denied is not None else None,
                    shown,
                )
            )
        return self

    async def agree(self, *turns: AgentTurn) -> "Desk":
        """The customer agrees to each of these writes that moves money."""
        for turn in turns:
            (made,) = turn.tool_calls
            if made.name in MONEY_WRITES:
                asked = {"request": 1, "write": made.name, "arguments": made.parsed()}
                await self.look(call("confirm_with_customer", **asked))
        return self

    async def offered(self, tool: str) -> list[AgentTurn]:
        """What is offered of a tool."""
        return [turn for turn in await self.env.affordances() if turn.tool_calls[0].name == tool]

    async def window(self) -> Window:
        """All operations; what was done between them changes nothing that a goal is about."""
        env = WORLD.open(self.settings)
        await env.reset(None)
        start = dict(await env.facts())
        end = dict(await self.env.facts())
        assert self.opening is not None
        return Window(
            "storefront",
            self.settings,
            0,
            self.opening,
            tuple(self.walk),
            tuple(self.operations),
            start,
            end,
        )

    async def drafted(self) -> Draft | NoGoal:
        """What was achieved."""
        assert WORLD.write_goal is not None
        return WORLD.write_goal(await self.window())

    async def task(self) -> Task:
        """The task of the operations, with the check that follows from what they changed."""
        window, draft = await self.window(), await self.drafted()
        assert isinstance(draft, Draft), draft
        return task_of(window, draft)


def task_of(window: Window, draft: Draft) -> Task:
    """The task of a draft."""
    check = check_of(window.start, window.end, draft, WORLD.spec.facts)
    return Task.identified(
        env="storefront",
        env_config=draft.env_config or {},
        goal=draft.goal,
        origin=Origin.REVERSE,
        check=check,
        script=draft.script,
    )


async def solution(task: Task, seed: int = 0) -> Transcript:
    """The expert's episode."""
    env = WORLD.open({})
    await env.reset(task)
    turns: list[AgentTurn] = []
    done = False
    while not done:
        turns.append(await env.expert(None, seed))
        done = (await env.step(turns[-1])).done
    return await perform(env, task, turns)


async def passes(task: Task, turns: Sequence[AgentTurn]) -> bool:
    """Whether these turns solve the task."""
    return (await perform(WORLD.open({}), task, turns)).verdict.passed


async def is_told(task: Task, turns: Sequence[AgentTurn]) -> bool:
    """Whether these turns tell what the task asks for."""
    parts = (await perform(WORLD.open({}), task, turns)).verdict.parts
    return all(part.passed for part in parts if part.name == "told")


Deed = Callable[[Desk], Awaitable[bool]]


def one(tool: str, *, refused_by: str | None = None, by: Random | None = None) -> Deed:
    """The first of what is offered of a tool that succeeds, or is refused by a rule, in a drawn
    order if `by`; whether there is one.
    """

    async def act(desk: Desk) -> bool:
        offered = await desk.offered(tool)
        for turn in offered if by is None else by.sample(offered, len(offered)):
            parked = await desk.env.snapshot()
            observed = (await desk.env.step(turn)).observations[0]
            await desk.env.restore(parked)
            if (
                observed.content.startswith(f"denied: {refused_by}:")
                if refused_by
                else not observed.error
            ):
                await desk.act(turn)
                return True
        return False

    return act


def then(*deeds: Deed) -> Deed:
    """One after the other."""

    async def act(desk: Desk) -> bool:
        return all([await deed(desk) for deed in deeds])

    return act


def looked_up(tool: str) -> Deed:
    """The first of what is offered of a tool whose answer a customer asks for."""

    async def act(desk: Desk) -> bool:
        for turn in await desk.offered(tool):
            await desk.act(turn)
            if not isinstance(await desk.drafted(), NoGoal):
                return True
            desk.operations.clear()
        return False

    return act


DONE: Mapping[str, Deed] = {
    "cancel": one("cancel_order"),
    "address": one("change_address"),
    "exchange": one("modify_lines"),
    "coupon": one("apply_coupon"),
    "compensation": one("issue_refund"),
    "return": then(one("create_return"), one("issue_refund")),
    "return above the limit": then(one("create_return"), one("escalate")),
    "out_of_scope": one("escalate"),
}


async def found(deed: Deed, config: Mapping[str, Any], worlds: range = FIRST_WORLDS) -> Desk:
    """A desk at which it could be done."""
    for seed in worlds:
        desk = await Desk({**config, "world_seed": seed}).prepare()
        if await deed(desk):
            return desk
    raise AssertionError("in none of the worlds")


async def wandered(config: Mapping[str, Any], rng: Random, deeds: int) -> Desk:
    """A desk at which so many deeds were drawn, each tool as likely; fewer where nothing is left to
    be done.
    """
    desk = await Desk(config).prepare()
    for _ in range(deeds):
        tools = sorted({turn.tool_calls[0].name for turn in await desk.env.affordances()})
        if tools:
            await desk.act(rng.choice(await desk.offered(rng.choice(tools))))
    return desk
