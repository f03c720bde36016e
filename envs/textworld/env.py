"""TextWorld as an environment: the compiled game speaks, its logic keeps the facts, and both must
agree.
"""

from collections.abc import Mapping, Sequence

import msgspec

from synth.envs.echo_check import state_verdicts
from synth.envs.textworld.commands import TOOLS, WITHOUT_EFFECT, Command, as_turn, read_call, typed
from synth.envs.textworld.config import TextWorldConfig, validated
from synth.envs.textworld.games import MadeGame, made_games
from synth.envs.textworld.interpreter import GameMemory, GameReply, Interpreter
from synth.envs.textworld.logic import Deed, Logic
from synth.envs.textworld.planner import Planner, wanders_off
from synth.envs.textworld.seeking import Seeker
from synth.envs.textworld.wishes import demanded, read
from synth.schemas.canonical import content_hash, valid_text
from synth.schemas.check import CheckResult, Facts, Scalar
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response, Snapshot
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.task import Origin, Task
from synth.schemas.trajectory import Observation, Source, ToolCall, Trajectory

SYSTEM_PROMPT = (
    "You are in a text adventure and act through tools. Everything happens in the room you are "
    "in; walk to reach other rooms. "
    "Name things exactly as the game shows them. Closed containers hide what is in them, and what "
    "is locked needs its key. "
    "The game ends by itself as soon as everything you were asked for has been done."
)
EXPLORE = "Look around and do what you like."
OVER = "The game is over; nothing more can be done."
USE_TOOLS = "Nothing happens. Act through the tools."
UNSEEN = "You can't see any such thing."
NO_PLAN = AgentTurn("I can no longer do what I was asked to do.")


class _Parked(msgspec.Struct, frozen=True):
    task: Task | None
    deeds: tuple[Deed, ...]
    turns: int
    memory: GameMemory | None


class TextWorldEnv:
    """One live game. Its methods compute for milliseconds and are stepped on threads, one at a
    time.
    """

    def __init__(self, spec: EnvSpec, config: TextWorldConfig) -> None:
        self.spec = spec
        self._config = config
        self._task: Task | None = None
        self._interpreter: Interpreter | None = None
        self._logic: Logic | None = None
        self._planner: Planner | None = None
        self._start: Facts = {}
        self._turns = 0

    async def reset(self, task: Task | None) -> Opening:
        """The game of the task, or one of this world's settings without a task. Raises
        `ConfigError` where the game is another one now.
        """
        room = self._sit_down(task).opening
        said = Observation(f"{task.goal if task else EXPLORE}\n\n{room}", Source.USER)
        return Opening(SYSTEM_PROMPT, TOOLS, (said,), self._state_key())

    async def step(self, turn: AgentTurn) -> Response:
        """Does the turn's calls in their order, up to the end of the game, or of what a derived
        task asks for.
        """
        self._turns += 1
        seen = [self._answer(call) for call in turn.tool_calls]
        if not seen:
            why = OVER if self._over else USE_TOOLS
            seen = [Observation(why, Source.ENVIRONMENT, error=True)]
        return Response(tuple(seen), self._state_key(), done=self._over)

    async def check(self) -> CheckResult:
        """The goals that the game's facts show as reached, and that nothing else was used up."""
        facts = self._live.facts()
        changed = {path: value for path, value in facts.items() if self._start.get(path) != value}
        changed |= {path: None for path in self._start if path not in facts}
        return self._verdict(self._task, self._start, facts, changed)

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The same check, on the stored facts alone. Raises `SynthError` where the trajectory has
        none.
        """
        if trajectory.check_result is None:
            raise SynthError(
                f"trajectory {trajectory.trajectory_id} has no check result, so its final facts "
                "are not known; replay it"
            )
        start = Logic(self._game_of(task).game).facts()
        stored = trajectory.check_result.facts
        end = {path: value for path, value in {**start, **stored}.items() if value is not None}
        return self._verdict(task, start, end, stored)

    async def close(self) -> None:
        """Lets the interpreter go."""
        self._interpreter = self._planner = self._logic = None

    async def affordances(self) -> Sequence[AgentTurn]:
        """Every admissible command."""
        possible = () if self._over else self._live.possible()
        return tuple(as_turn(command, self._turns) for command in possible)

    async def facts(self) -> Facts:
        """See `Logic.facts`."""
        return self._live.facts()

    async def snapshot(self) -> Snapshot:
        """What was done, and how the interpreter's memory differs from the start."""
        memory = self._interpreter.memory() if self._interpreter is not None else None
        parked = _Parked(self._task, tuple(self._live.deeds), self._turns, memory)
        return Snapshot(self.spec.name, self.spec.version, msgspec.json.encode(parked))

    async def restore(self, snapshot: Snapshot) -> None:
        """Goes on from a snapshot. Raises `SynthError` for one of another world or version."""
        if (snapshot.env, snapshot.version) != (self.spec.name, self.spec.version):
            raise SynthError(
                f"snapshot of {snapshot.env} {snapshot.version} cannot be restored in "
                f"{self.spec.name} {self.spec.version}"
            )
        parked = msgspec.json.decode(snapshot.blob, type=_Parked)
        interpreter = self._sit_down(parked.task)
        for deed in parked.deeds:
            self._live.do(deed)
        self._turns = parked.turns
        if parked.memory is not None:
            interpreter.remember(parked.memory)

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The next step of a plan made with full knowledge of the game (privileged); `wanders`
        leaves it now and then.

        What a derived task asks for is read from its goal's words; from its check where they are
        not this world's own.
        """
        logic = self._live
        if self._task is not None and self._task.origin is Origin.REVERSE:
            wishes = read(self._task.goal) or demanded(self._task.check)
            step = Seeker(logic).next_command(wishes, seed)
        else:
            self._planner = self._planner or Planner(logic.game)
            deed = self._planner.next_deed(logic.deeds)
            step = logic.command(deed) if deed is not None else None
        if step is None:
            return NO_PLAN
        return as_turn(wanders_off(profile, seed, self._turns, logic) or step, self._turns)

    @property
    def _over(self) -> bool:
        """Whether the game is won, or all is as a derived task wants it."""
        task, won = self._task, self._live.won
        if won or task is None or task.check is None or task.origin is not Origin.REVERSE:
            return won
        return state_verdicts(task.check, self._start, self._live.facts())[0].passed

    @property
    def _live(self) -> Logic:
        if self._logic is None:
            raise RuntimeError("textworld: reset comes first")
        return self._logic

    def _game_of(self, task: Task | None) -> MadeGame:
        config = validated(task.env_config) if task is not None else self._config
        (made,) = made_games(config, [task.seed if task is not None else config.explored_seed])
        if task is not None and task.script.get("game", made.digest) != made.digest:
            raise ConfigError(
                f"textworld: task {task.task_id} was made with another version of TextWorld, "
                "which makes another game of its seed; "
                "install that version, or make the tasks anew"
            )
        return made

    def _sit_down(self, task: Task | None) -> Interpreter:
        made = self._game_of(task)
        self._interpreter = None  # its memory is given back before more is taken
        self._interpreter = Interpreter(made.path)
        self._task, self._logic, self._planner, self._turns = task, Logic(made.game), None, 0
        self._start = self._logic.facts()
        return self._interpreter

    def _answer(self, call: ToolCall) -> Observation:
        def answer(content: str, *, error: bool) -> Observation:
            return Observation(content, Source.TOOL, call.call_id, valid_text(call.name), error)

        if self._over:
            return answer(OVER, error=True)
        command = read_call(call)
        if isinstance(command, str):
            return answer(command, error=True)
        sight = self._live.in_sight if command.tool != "go" else str
        known = tuple(filter(None, map(sight, command.arguments)))
        if len(known) < len(command.arguments):
            return answer(UNSEEN, error=True)
        reply = self._do(Command(command.tool, known))
        return answer(reply.text or "Nothing happens.", error=not reply.succeeded)

    def _do(self, command: Command) -> GameReply:
        """Gives the command to the game and to its logic. Raises `RuntimeError` where they
        disagree: then nothing is known for sure.
        """
        if self._interpreter is None:
            raise RuntimeError("textworld: reset comes first")
        deed = self._live.possible().get(command)
        reply = self._interpreter.give(typed(command))
        said, has_effect = typed(command), command.tool not in WITHOUT_EFFECT
        if has_effect and bool(reply.succeeded) != (deed is not None):
            by_facts = f"{said!r} is {'not ' * (deed is None)}possible by the facts"
            raise RuntimeError(f"textworld: {by_facts}, and the game says: {reply}"[:400])
        if has_effect and deed is not None:
            self._live.do(deed)
        if reply.won != self._live.won:
            told = f"the game says won = {reply.won}, the facts {self._live.won}"
            raise RuntimeError(f"textworld: {told}, after {said!r}")
        return reply

    def _state_key(self) -> str:
        return content_hash(self._live.facts())

    def _verdict(
        self, task: Task | None, start: Facts, end: Mapping[str, Scalar], changed: Facts
    ) -> CheckResult:
        if task is None or task.check is None:
            return CheckResult(False, facts=changed, version=self.spec.version)
        parts = state_verdicts(task.check, start, end)
        return CheckResult(all(part.passed for part in parts), parts, changed, self.spec.version)
