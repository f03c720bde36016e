"""More episodes than worlds that fit into memory: a world that waits for its agent is put aside as
a snapshot, and restored on the answer.

A world keeps its place while nobody else needs it. Of the idle ones the one that was left last is
parked: with models that answer in
turn, its answer is the furthest off. A world without the capability `snapshot` keeps its place
until it is closed.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from synth.boundary import FaultError, guard_async
from synth.nobodys_time import nobodys_time
from synth.rollout.live_envs.env_calls import forwarded
from synth.schemas import Env, EnvSpec, Fault, Snapshot

T = TypeVar("T")
PARKS_WITHIN_S = 60.0


class LiveWorlds:
    """At most `limit` live worlds; who needs a place waits its turn. `most`, `parked`: how many
    were live at once, and put aside.
    """

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"{limit} live worlds: at least one must fit")
        self.limit = limit
        self.live = self.most = self.parked = 0
        self._idle: dict[ParkedEnv, None] = {}
        self._queue: deque[asyncio.Future[ParkedEnv | None]] = deque()

    async def enter(self) -> None:
        """Waits for a place, and parks another world for it where it must."""
        turn: asyncio.Future[ParkedEnv | None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._serve()
        try:
            with nobodys_time():
                other = await turn
                if other is not None:
                    await other.park()
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise
        if other is not None:
            self.parked += 1

    def leave(self) -> None:
        """Gives a place free."""
        self.live -= 1
        self._serve()

    def idle(self, world: "ParkedEnv") -> None:
        """A world's place may be taken from now on."""
        self._idle[world] = None
        self._serve()

    def busy(self, world: "ParkedEnv") -> None:
        """A world needs its place."""
        self._idle.pop(world, None)

    def _serve(self) -> None:
        while self._queue and (self.live < self.limit or self._idle):
            turn = self._queue.popleft()
            if turn.done():
                continue
            if self.live < self.limit:
                self.live += 1
                self.most = max(self.most, self.live)
                turn.set_result(None)
            else:
                turn.set_result(self._idle.popitem()[0])


class ParkedEnv:
    """A world that is live only while it is needed, or while there is room. Methods as in `Env`;
    `opening` makes an instance.
    """

    def __init__(self, spec: EnvSpec, opening: Callable[[], Env], worlds: LiveWorlds) -> None:
        self._spec = spec
        self._opening = opening
        self._worlds = worlds
        self._env: Env | None = None
        self._snapshot: Snapshot | None = None
        self._broken: FaultError | None = None
        self._lock = asyncio.Lock()

    @property
    def spec(self) -> EnvSpec:
        """The world's own."""
        return self._env.spec if self._env is not None else self._spec

    async def park(self) -> None:
        """Puts the world aside; its place belongs to the caller from now on. A fault in this is
        told to its own episode, not here.
        """
        async with self._lock:
            env, self._env = self._env, None
            if env is None:
                return
            try:
                self._snapshot = await guard_async(
                    Fault.ENVIRONMENT, "parking", env.snapshot, PARKS_WITHIN_S
                )
                await guard_async(Fault.ENVIRONMENT, "closing to park", env.close, PARKS_WITHIN_S)
            except FaultError as error:
                self._broken = error
            except BaseException:
                self._broken = FaultError(
                    Fault.INFRASTRUCTURE, "the world was being parked when the run was stopped"
                )
                raise

    async def _with(self, call: Callable[[Env], Awaitable[T]]) -> T:
        self._worlds.busy(self)
        async with self._lock:
            env = await self._live()
            try:
                return await call(env)
            finally:
                if "snapshot" in env.spec.capabilities:
                    self._worlds.idle(self)

    async def _live(self) -> Env:
        if self._broken is not None:
            raise self._broken
        if self._env is not None:
            return self._env
        await self._worlds.enter()
        try:
            env = self._opening()
            if self._snapshot is not None:
                await env.restore(self._snapshot)
        except BaseException:
            self._worlds.leave()
            raise
        self._env, self._snapshot = env, None
        return env

    async def close(self) -> None:
        """Gives the place free."""
        self._worlds.busy(self)
        async with self._lock:
            env, self._env, self._snapshot = self._env, None, None
            self._broken = FaultError(Fault.ENVIRONMENT, "the world is closed")
            if env is not None:
                try:
                    await env.close()
                finally:
                    self._worlds.leave()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        """The other methods of `Env`."""
        return forwarded(name, self._with)
