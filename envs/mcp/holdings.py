"""What a server's processes and its folder hold, against what they may."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from synth.confinement import LOOK_S, Cgroup, ProcessLimits, deleted, held, tree
from synth.envs.mcp.state.walk import TooLargeError, weight


class Holdings:
    """Of one server. Where there is a cgroup, the kernel ends what grows beyond it, and this tells;
    else a look twice a second does both.
    """

    def __init__(self, limits: ProcessLimits, folder: Path) -> None:
        self._limits, self._folder = limits, folder
        self.group: Cgroup | None = None
        self.process: int | None = None

    @property
    def entrances(self) -> Sequence[Path]:
        """The files by which the server's first process enters its cgroup."""
        return () if self.group is None else self.group.entrances

    def count(self) -> int:
        """How many processes there are."""
        return len(self._processes())

    async def outgrown(self) -> str:
        """Returns when the processes, or the folder, hold more than they may: what, for the agent
        to read.
        """
        while self.process is not None:
            await asyncio.sleep(LOOK_S)
            open_still = deleted(self._processes())
            if words := self._memory() or self._disk(open_still):
                return words

        return ""

    def too_much(self) -> str:
        """As `outgrown`, now, as far as no look at all processes of the machine is needed."""
        return (self._memory() if self.group is not None else "") or self._disk()

    async def close(self) -> None:
        """The server has ended."""
        self.process = None
        group, self.group = self.group, None
        if group is not None:
            await group.close()

    def leave(self) -> None:
        """The server ends, and nobody will wait for it."""
        if self.group is not None:
            self.group.leave()

    def _processes(self) -> Sequence[int]:
        if self.group is not None:
            return self.group.processes

        return () if self.process is None else tree(self.process)

    def _memory(self) -> str:
        most = self._limits.memory_mb
        if self.group is not None:
            outgrown = self.group.met == "memory"
        else:
            outgrown = self.process is not None and held(self.process).memory > most << 20

        return f"the processes together hold more than {most} MB of memory" if outgrown else ""

    def _disk(self, deleted_bytes: int = 0) -> str:
        most = self._limits.disk_mb
        try:
            full = weight(self._folder) + deleted_bytes > most << 20
        except TooLargeError as error:
            return str(error)

        return f"the world's folder holds more than {most} MB" if full else ""
