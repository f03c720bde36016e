"""A bot's own branch of a broken tree: which lines its tests run, and which edit mends it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files

import msgspec

from synth.confinement import ProcessLimits
from synth.confinement.branches import Branch, branch_of
from synth.envs.repo.bots.spectrum import Place
from synth.envs.repo.copies import shown
from synth.envs.repo.task_tree import TaskTree
from synth.envs.repo.terminal.shell import TOOLS

_FOLDER = ".synth_bot"
_LARGEST = 64 << 20
_MEASURING_S, _TRYING_S, _ONE_S, _EVERY_S = 120.0, 300.0, 10.0, 60.0
LIMITS = ProcessLimits(cpu_s=600)


class Spectrum(msgspec.Struct, frozen=True):
    """Which tests pass, and which lines each of them runs; those that are run while modules are
    imported belong to every test.
    """

    passed: Mapping[str, bool]
    run_by: Mapping[str, Sequence[Place]]

    @property
    def failing(self) -> tuple[str, ...]:
        """The tests that do not pass."""
        return tuple(test for test, passed in self.passed.items() if not passed)

    @property
    def lines(self) -> Mapping[str, set[Place]]:
        """By test, all lines that it depends on."""
        imported = set(self.run_by.get("", ()))
        return {test: imported | set(self.run_by.get(test, ())) for test in self.passed}


class RepairEdit(msgspec.Struct, frozen=True):
    """An edit that may mend a tree: the file's text with it."""

    path: str
    text: str
    operator: str
    line: int


class RepairTried(msgspec.Struct, frozen=True):
    """The number of the edit that mends, -1 for none, and how many were tried."""

    found: int
    tried: int


class Workshop:
    """A branch in which a bot tries edits."""

    def __init__(self, branch: Branch, place: TaskTree) -> None:
        self._branch, self.place = branch, place
        task = place.task
        self.tests = tuple(path for path in task.test_files if path not in task.hidden)

    async def text(self, path: str) -> bytes:
        """A file of the broken tree; nothing where there is none."""
        try:
            return await self._branch.read(path, _LARGEST)
        except OSError:
            return b""

    async def spectrum(self) -> Spectrum | None:
        """Outcomes and lines of the tests that an agent sees; None where they do not end."""
        asked = {"tests": self.tests, "sources": self.place.library.source}
        said = await self._asked(asked, _MEASURING_S)
        return None if said is None else msgspec.json.decode(said, type=Spectrum)

    async def first_repair(self, known: Spectrum, edits: Sequence[RepairEdit]) -> RepairTried:
        """The first edit with which what failed passes, and what passed still does."""
        asked = {
            "failing": known.failing,
            "tests": self.tests,
            "passed": known.passed,
            "edits": edits,
            "total_s": _TRYING_S,
            "one_s": _ONE_S,
            "every_s": _EVERY_S,
        }
        said = await self._asked(asked, _TRYING_S + _EVERY_S)
        return RepairTried(-1, 0) if said is None else msgspec.json.decode(said, type=RepairTried)

    async def _asked(self, request: Mapping[str, object], time_s: float) -> bytes | None:
        """What the script inside answers; None where it was stopped."""
        inside = files("synth.envs.repo.bots") / "inside.py"
        await self._branch.write(f"{_FOLDER}/inside.py", inside.read_bytes())
        await self._branch.write(f"{_FOLDER}/request", msgspec.json.encode(request))
        names = [f"{_FOLDER}/{name}" for name in ("inside.py", "request", "answer")]
        command = [f"{TOOLS}/bin/python", *names]
        await self._branch.run(command, time_s=time_s)
        try:
            return await self._branch.read(names[-1], _LARGEST)
        except OSError:
            return None


@asynccontextmanager
async def workshop(place: TaskTree) -> AsyncIterator[Workshop]:
    """A branch of a task's broken tree, for a bot alone."""
    async with branch_of(place.base, limits=LIMITS, read_only=await shown(place)) as branch:
        await branch.apply(place.edits)
        yield Workshop(branch, place)
