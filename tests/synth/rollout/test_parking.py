"""More episodes than live worlds: each goes on as if its world had been live all the time."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.boundary import FaultError, guard_async
from synth.engine.context import most_live
from synth.envs.echo import SPEC, EchoConfig, EchoEnv
from synth.ledger import StoredLedger
from synth.rollout.live_envs.parking import LiveWorlds, ParkedEnv
from synth.schemas.environment import AgentTurn, EnvSpec, Snapshot
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from synth.schemas.outcome import Fault
from tests.flow_files import model_flow, run_flow
from tests.synth.canonical_content import canonical_content
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

SAY = AgentTurn(content="hello")


class Counted(EchoEnv):
    """Counts its live instances; `unparkable` breaks its snapshots."""

    live = most = 0
    unparkable = False

    def __init__(self, config: EchoConfig) -> None:
        super().__init__(config)
        Counted.live += 1
        Counted.most = max(Counted.most, Counted.live)

    async def snapshot(self) -> Snapshot:
        if self.unparkable:
            raise RuntimeError("planned: no snapshot")
        return await super().snapshot()

    async def close(self) -> None:
        Counted.live -= 1


@pytest.fixture(autouse=True)
def _none_live() -> None:
    Counted.live = Counted.most = 0
    Counted.unparkable = False


def parked(worlds: LiveWorlds, count: int, spec: EnvSpec = SPEC, **config: Any) -> list[ParkedEnv]:
    return [ParkedEnv(spec, lambda: Counted(EchoConfig(**config)), worlds) for _ in range(count)]


async def played(env: ParkedEnv, turns: int) -> list[str]:
    await env.reset(None)
    heard = []
    for _ in range(turns):
        await asyncio.sleep(0)  # the agent thinks
        heard.append((await env.step(SAY)).observations[0].content)
    facts = await env.facts()
    await env.close()
    return [*heard, str(facts)]


def test_twenty_episodes_through_three_live_worlds_hear_what_they_would_hear_alone() -> None:
    async def scenario() -> tuple[list[list[str]], list[str], LiveWorlds]:
        worlds = LiveWorlds(3)
        together = await asyncio.gather(*(played(env, 4) for env in parked(worlds, 20)))
        (alone,) = parked(LiveWorlds(1), 1)
        return list(together), await played(alone, 4), worlds

    together, alone, worlds = asyncio.run(scenario())
    assert together == [alone] * 20
    assert (Counted.most, worlds.most, worlds.live, Counted.live) == (3, 3, 0, 0)
    assert worlds.parked > 20


def test_while_there_is_room_nothing_is_parked() -> None:
    async def scenario() -> LiveWorlds:
        worlds = LiveWorlds(20)
        await asyncio.gather(*(played(env, 4) for env in parked(worlds, 20)))
        return worlds

    assert asyncio.run(scenario()).parked == 0


def test_a_world_without_snapshots_keeps_its_place_and_the_others_wait_for_it() -> None:
    class Lasting(Counted):
        @property
        def spec(self) -> EnvSpec:
            return msgspec.structs.replace(SPEC, capabilities=SPEC.capabilities - {"snapshot"})

    async def scenario() -> tuple[Sequence[list[str]], LiveWorlds]:
        worlds = LiveWorlds(2)
        envs = [ParkedEnv(SPEC, lambda: Lasting(EchoConfig()), worlds) for _ in range(6)]
        return await asyncio.gather(*(played(env, 2) for env in envs)), worlds

    heard, worlds = asyncio.run(scenario())
    assert len({tuple(h) for h in heard}) == 1
    assert (Counted.most, worlds.parked, worlds.live) == (2, 0, 0)


def test_a_world_that_cannot_be_put_aside_is_a_fault_of_its_own_episode_and_of_no_other() -> None:
    async def scenario() -> tuple[str, list[str], LiveWorlds]:
        worlds = LiveWorlds(1)
        broken, other = parked(worlds, 2)
        await broken.reset(None)
        Counted.unparkable = True
        heard = await played(other, 1)
        with pytest.raises(FaultError) as fault:
            await broken.step(SAY)
        assert fault.value.fault is Fault.ENVIRONMENT
        await broken.close()
        return fault.value.detail, heard, worlds

    detail, heard, worlds = asyncio.run(scenario())
    assert detail.startswith("parking: RuntimeError: planned: no snapshot")
    assert len(heard) == 2
    assert worlds.live == 0


def test_the_wait_for_a_place_counts_for_no_timeout() -> None:
    async def scenario() -> list[str]:
        worlds = LiveWorlds(1)
        first, second = parked(worlds, 2, step_ms=150)
        await first.reset(None)
        slow = asyncio.ensure_future(first.step(SAY))
        await asyncio.sleep(0.01)
        opening = await guard_async(Fault.ENVIRONMENT, "reset", lambda: second.reset(None), 0.05)
        await slow
        return [observation.content for observation in opening.observations]

    assert asyncio.run(scenario()) == ["Echo what you like, then finish."]


def test_a_cancelled_wait_takes_nobodys_place() -> None:
    async def scenario() -> int:
        worlds = LiveWorlds(1)
        first, second, third = parked(worlds, 3, step_ms=30)
        await first.reset(None)
        slow = asyncio.ensure_future(first.step(SAY))
        await asyncio.sleep(0.01)
        waiting = asyncio.ensure_future(second.reset(None))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(slow, waiting, return_exceptions=True)
        await played(third, 1)
        await asyncio.gather(first.close(), second.close())
        return worlds.live

    assert asyncio.run(scenario()) == 0


def test_as_many_live_as_the_flow_says_and_as_fit_into_its_memory() -> None:
    def flow(**changes: Any) -> Flow:
        return Flow(name="x", **changes)

    spec = msgspec.structs.replace(SPEC, memory_bytes=2**20)
    assert most_live(flow(), spec) is None
    assert most_live(flow(max_live_worlds=16), spec) == 16
    assert most_live(flow(max_world_memory_gib=0.01), spec) == 10  # 10.24 MiB
    assert most_live(flow(max_live_worlds=16, max_world_memory_gib=0.01), spec) == 10
    with pytest.raises(
        ConfigError, match=r"one world 'echo' takes 0\.000977 GiB; allow for one at least"
    ):
        most_live(flow(max_world_memory_gib=0.0001), spec)
    with pytest.raises(ConfigError, match="does not say what an instance takes"):
        most_live(flow(max_world_memory_gib=1), msgspec.structs.replace(SPEC, memory_bytes=0))


def contents(url: str) -> dict[str, Any]:
    return {t.slot_id: canonical_content(t) for t in StoredLedger(url).trajectories()}


@pytest.mark.slow
@pytest.mark.parametrize("world", [{"name": "echo", "turns": 4}, {"name": "storefront"}])
@pytest.mark.nightly
def test_two_hundred_episodes_through_sixteen_live_worlds_give_the_same_ledger(
    tmp_path: Path, world: dict[str, Any]
) -> None:
    stages = [{"rollout": {"trials": 4, "live": 200, "limits": {"max_turns": 6}}}]
    with ChatServer(echo_expert, latency_s=0.02) as server:
        runs = []
        for name, ceiling in (("free", None), ("parked", 16)):
            model = {"max_in_flight": 200}
            flow = model_flow(
                server.url,
                model=model,
                env={**world, "tasks": 50},
                stages=stages,
                max_live_worlds=ceiling,
            )
            runs.append(run_flow(flow, str(tmp_path / name))[0])
    (worlds,) = runs[1]._live_worlds.values()
    assert worlds.most == 16
    assert worlds.parked > 200
    assert runs[0]._live_worlds == {}
    assert len(contents(str(tmp_path / "free"))) == 200
    assert contents(str(tmp_path / "parked")) == contents(str(tmp_path / "free"))
