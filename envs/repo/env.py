"""A repository as an environment: a terminal in its tree, and tests as the check."""

from collections.abc import Sequence
from random import Random

import msgspec

from synth.envs.echo_check import judged
from synth.envs.episode import LastWords, answer, done_again, fits, profile_of
from synth.envs.repo.checking import facts_of, passing, tests_of
from synth.envs.repo.honesty.verdict import honest
from synth.envs.repo.repair.acts import turn_of
from synth.envs.repo.repair.erring import NEXT
from synth.envs.repo.repair.plan import RepairPlan, RepairTexts
from synth.envs.repo.seat import RepoSeat, SavedTree
from synth.envs.repo.starting import RepoConfig, RepoSettings
from synth.envs.repo.task_tree import Changes
from synth.envs.repo.tasks.of_pool import place_of
from synth.envs.repo.tasks.reverse import looks, possible_edits
from synth.envs.repo.terminal.files import CannotError
from synth.envs.repo.terminal.live_tree import LiveTree
from synth.envs.repo.tools import problem_of, texts, tool_schemas
from synth.schemas import (
    AgentTurn,
    Check,
    CheckResult,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Response,
    Snapshot,
    Source,
    Task,
    ToolCall,
    Trajectory,
    content_hash,
)


class RepoEnv:
    """One live tree."""

    def __init__(self, spec: EnvSpec, config: RepoConfig, settings: RepoSettings) -> None:
        self.spec = spec
        self._config, self._settings = config, settings
        self._seat = RepoSeat()
        self._task: Task | None = None
        self._tree: LiveTree | None = None
        self._tests: list[str] | None = None

    async def reset(self, task: Task | None) -> Opening:
        """The tree of the task, or one by the settings without one.

        Raises `ConfigError` where the pool is another one now.
        """
        await self._begin(task)
        goal = task.goal if task else texts().explore
        seen = (Observation(goal, Source.USER),)

        return Opening(texts().system_prompt, tool_schemas(), seen, await self._state_key())

    async def step(self, turn: AgentTurn) -> Response:
        """Answers each call of the turn, in order; words without a call end the work."""
        seat = self._seat
        seat.turns += 1

        observations = tuple([await self._called(call) for call in turn.tool_calls])
        if not observations:
            last = LastWords(texts().over, texts().idle, texts().thanks)
            said, seat.over = last.answer(turn, over=seat.over)
            observations = (said,)

        return Response(observations, await self._state_key(), done=seat.over)

    async def check(self) -> CheckResult:
        """The task's predicates over the tests; what failed at the start may pass."""
        start, end, check = await self._facts({}), await self.facts(), self._check
        if check is not None:
            better = tuple(path for path, value in start.items() if value is False)
            check = msgspec.structs.replace(check, free=(*check.free, *better))

        verdict = judged(check, start, end, self.spec.version)
        if not verdict.passed:
            return verdict

        tree = self._live
        part = await honest(tree.place, await tree.changes(), self._settings)

        return msgspec.structs.replace(verdict, passed=part.passed, parts=(*verdict.parts, part))

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The same check, over the recorded turns done again."""
        again = RepoEnv(self.spec, self._config, self._settings)
        try:
            return await done_again(again, task, trajectory)
        finally:
            await again.close()

    async def close(self) -> None:
        """Lets the tree go."""
        if self._tree is not None:
            await self._tree.close()

        self._tree = None

    async def affordances(self) -> Sequence[AgentTurn]:
        """Looks, a run of the tests, and edits; the right ones only where nothing is asked for."""
        if self._seat.over:
            return ()

        tree = self._live
        now = {path: await tree.text(path) for path in tree.place.wanted}
        edits = possible_edits(tree.place.wanted, now, also_right=self._task is None)
        acts = [*looks(tree.place), *edits]

        return [turn_of(self._seat.turns, act) for act in acts]

    async def facts(self) -> Facts:
        """Per test whether it passes, per file that differs from the start its digest."""
        return await self._facts(await self._live.changes())

    async def snapshot(self) -> Snapshot:
        """What differs from the task's tree, and what the shell carries on."""
        tree = self._live
        saved = SavedTree(self._task, self._seat, tree.shell, dict(await tree.changes()))
        await tree.freeze()

        return Snapshot(self.spec.name, self.spec.version, msgspec.json.encode(saved))

    async def restore(self, snapshot: Snapshot) -> None:
        """Goes on from a snapshot. Raises `UnfitError` for one of another world or version."""
        saved = msgspec.json.decode(fits(snapshot, self.spec), type=SavedTree)
        if self._tree is None or self._task != saved.task:
            await self._begin(saved.task)

        self._seat = saved.seat
        await self._live.restore(saved.changes, saved.shell)

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """What is next: looks, edits one by one, a run of the tests, the end. `mixed` draws one
        misconception from the seed and the tree.
        """
        drawn = seed if self._tree is None else f"{seed} {self._tree.place.task.id}"
        name = profile_of(self.spec, profile, drawn)
        if self._task is None:
            return AgentTurn("I do not know what is asked for.")

        # by the seed alone: with another profile the same trial goes about it in the same way
        draw = Random(f"repo expert {seed}")
        plan = RepairPlan(self._live.place, await self._texts(), self._seat.so_far(), draw)

        return turn_of(self._seat.turns, NEXT[name](plan))

    async def _texts(self) -> RepairTexts:
        """The files that matter: those to be mended, what else was changed, the failing tests."""
        tree, place = self._live, self._live.place
        changed = [path for path in await tree.changes() if place.counts(path)]
        start = place.start_texts([*place.wanted, *changed, *place.seen_tests])
        wanted = {**{path: start[path] for path in changed}, **place.wanted}
        now = {path: await tree.text(path) for path in wanted}

        return RepairTexts(start, now, wanted)

    @property
    def _check(self) -> Check | None:
        """What the task asks for."""
        return self._task.check if self._task else None

    async def _begin(self, task: Task | None) -> None:
        """Opens the tree of a task. Raises `ConfigError` for another pool."""
        place = place_of(self._settings.folder, self._config, task)
        if self._tree is not None:
            await self._tree.close()
            self._tree = None

        self._task, self._seat, self._tests = task, RepoSeat(), None
        self._tree = await LiveTree.opened(place, self._settings)

    @property
    def _live(self) -> LiveTree:
        """The open tree."""
        if self._tree is None:
            raise RuntimeError("repo: reset comes first")
        return self._tree

    async def _called(self, call: ToolCall) -> Observation:
        """One call's answer."""
        problem = texts().over if self._seat.over else problem_of(call)
        text, failed = problem or "", problem is not None

        if not failed:
            before = await self._live.changes()
            try:
                text, failed = await self._done(call.name, call.parsed())
            except CannotError as error:
                text, failed = str(error), True

            self._seat.note(call, edited=before != await self._live.changes())

        return answer(call, text, failed=failed)

    async def _done(self, tool: str, arguments: dict[str, str]) -> tuple[str, bool]:
        """(what a tool answers, whether it failed). Raises `CannotError`."""
        most = self._config.output_chars
        match tool:
            case "bash":
                return await self._live.bash(arguments["command"], most)
            case "view":
                return await self._live.view(arguments["path"], arguments.get("lines"), most), False
            case "replace":
                return await self._live.replace(**arguments), False
            case _:
                self._seat.over = True
                return texts().submitted, False

    async def _facts(self, changes: Changes) -> Facts:
        """The facts of the task's tree with these changes."""
        place = self._live.place
        if self._tests is None:
            self._tests = tests_of(place, await passing(place, {}, self._settings))

        passed = await passing(place, changes, self._settings)

        return facts_of(place, self._tests, passed, changes)

    async def _state_key(self) -> str:
        """The same for equal trees and shells."""
        return content_hash([await self._live.key(), self._seat.over])
