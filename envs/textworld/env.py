"""TextWorld as an environment: the compiled game speaks, its logic keeps the facts, and both must
agree.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from synth.envs.echo_check import judged, state_verdicts
from synth.envs.episode import answer, fits, profile_of
from synth.envs.textworld.commands import (
    TOOLS,
    WITHOUT_EFFECT,
    Command,
    as_turn,
    read_call,
    typed,
)
from synth.envs.textworld.config import TextWorldConfig, validated
from synth.envs.textworld.games import MadeGame, made_games
from synth.envs.textworld.interpreter import (
    GameMemory,
    GameReply,
    Interpreter,
)
from synth.envs.textworld.logic import Deed, Logic
from synth.envs.textworld.planner import Planner, wanders_off
from synth.envs.textworld.rewording.reader import read
from synth.envs.textworld.seeking import Seeker
from synth.schemas import (
    AgentTurn,
    CheckResult,
    ConfigError,
    EnvSpec,
    Facts,
    Observation,
    Opening,
    Origin,
    Response,
    Snapshot,
    Source,
    SynthError,
    Task,
    ToolCall,
    Trajectory,
    content_hash,
)

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


class _Game:
    """One episode: its task, the game in its interpreter and as logic, and how it began."""

    def __init__(self, task: Task | None, made: MadeGame) -> None:
        self.task = task
        self.interpreter = Interpreter(made.path)
        self.logic = Logic(made.game)
        self.planner = Planner(made.game)
        self.start: Facts = self.logic.facts()
        self.turns = 0

    @property
    def derived(self) -> bool:
        """Whether the task was derived from an exploration: its goal is none of the game's own."""
        return self.task is not None and self.task.origin is Origin.REVERSE

    @property
    def over(self) -> bool:
        """Whether the game is won, or all is as a derived task wants it."""
        check = self.task.check if self.task is not None and self.derived else None
        if self.logic.won or check is None:
            return self.logic.won
        return state_verdicts(check, self.start, self.logic.facts())[0].passed is True

    def do(self, command: Command) -> GameReply:
        """Gives the command to the game and to its logic. Raises `RuntimeError` where they
        disagree: then nothing is known for sure.
        """

        deed, said = self.logic.possible().get(command), typed(command)
        reply = self.interpreter.give(said)
        if command.tool not in WITHOUT_EFFECT:
            if bool(reply.succeeded) != (deed is not None):
                by_facts = f"{said!r} is {'not ' * (deed is None)}possible by the facts"
                raise RuntimeError(f"textworld: {by_facts}, and the game says: {reply}"[:400])

            if deed is not None:
                self.logic.do(deed)

        if reply.won != self.logic.won:
            told = f"the game says won = {reply.won}, the facts {self.logic.won}"
            raise RuntimeError(f"textworld: {told}, after {said!r}")

        return reply


class TextWorldEnv:
    """One live game. Its methods compute for milliseconds and are stepped on threads, one at a
    time.
    """

    def __init__(self, spec: EnvSpec, config: TextWorldConfig) -> None:
        self.spec = spec
        self._config = config
        self._game: _Game | None = None

    async def reset(self, task: Task | None) -> Opening:
        """The game of the task, or one of this environment's settings without a task. Raises
        `ConfigError` where the game is another one now.
        """
        room = self._sit_down(task).interpreter.opening
        said = Observation(f"{task.goal if task else EXPLORE}\n\n{room}", Source.USER)
        return Opening(SYSTEM_PROMPT, TOOLS, (said,), self._state_key())

    async def step(self, turn: AgentTurn) -> Response:
        """Does the turn's calls in their order, up to the end of the game, or of what a derived
        task asks for.
        """

        game = self._live
        game.turns += 1
        seen = [self._answer(call) for call in turn.tool_calls]
        over = game.over
        if not seen:
            seen = [Observation(OVER if over else USE_TOOLS, Source.ENVIRONMENT, error=True)]

        return Response(tuple(seen), self._state_key(), done=over)

    async def check(self) -> CheckResult:
        """The goals that the game's facts show as reached, and that nothing else was used up."""
        game = self._live
        check = game.task.check if game.task is not None else None
        return judged(
            check,
            game.start,
            game.logic.facts(),
            self.spec.version,
        )

    async def recheck(self, task: Task, trajectory: Trajectory) -> CheckResult:
        """The same check, on the stored facts alone. Raises `SynthError` where the trajectory has
        none.
        """

        if trajectory.check_result is None:
            raise SynthError(
                f"trajectory {trajectory.trajectory_id} has no check result, so its final facts "
                "are not known; replay it"
            )

        start = Logic(self._made(task).game).facts()
        changed = {**start, **trajectory.check_result.facts}
        end = {path: value for path, value in changed.items() if value is not None}

        return judged(
            task.check,
            start,
            end,
            self.spec.version,
        )

    async def close(self) -> None:
        """Lets the interpreter go."""
        self._game = None

    async def affordances(self) -> Sequence[AgentTurn]:
        """Every admissible command."""
        game = self._live
        possible = () if game.over else game.logic.possible()
        return tuple(as_turn(command, game.turns) for command in possible)

    async def facts(self) -> Facts:
        """See `Logic.facts`."""
        return self._live.logic.facts()

    async def snapshot(self) -> Snapshot:
        """What was done, and how the interpreter's memory differs from the start."""
        game = self._live
        deeds, memory = tuple(game.logic.deeds), game.interpreter.memory()
        blob = msgspec.json.encode(
            _Parked(
                game.task,
                deeds,
                game.turns,
                memory,
            )
        )
        return Snapshot(self.spec.name, self.spec.version, blob)

    async def restore(self, snapshot: Snapshot) -> None:
        """Goes on from a snapshot. Raises `UnfitError` for one of another environment."""

        parked = msgspec.json.decode(fits(snapshot, self.spec), type=_Parked)
        game = self._sit_down(parked.task)
        for deed in parked.deeds:
            game.logic.do(deed)
        game.turns = parked.turns
        if parked.memory is not None:
            game.interpreter.remember(parked.memory)

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        """The next step of a plan made with full knowledge of the game (privileged); `wanders`
        leaves it now and then.

        What a derived task asks for is read from its goal's words; where they cannot be
        read there is no plan.
        """

        game = self._live
        logic = game.logic
        if game.task is not None and game.derived:
            step = Seeker(logic).next_command(read(game.task.goal, logic.kinds), seed)
        else:
            deed = game.planner.next_deed(logic.deeds)
            step = logic.command(deed) if deed is not None else None

        if step is None:
            return NO_PLAN
        wanders = profile_of(self.spec, profile, seed) == "wanders"
        other = wanders_off(seed, game.turns, logic) if wanders else None

        return as_turn(other or step, game.turns)

    @property
    def _live(self) -> _Game:
        if self._game is None:
            raise RuntimeError("textworld: reset comes first")

        return self._game

    def _made(self, task: Task | None) -> MadeGame:
        """The game of a task. Raises `ConfigError` where the task was made with another one."""

        config = validated(task.env_config) if task is not None else self._config
        (made,) = made_games(config, [task.seed if task is not None else config.explored_seed])
        if task is not None and task.script.get("game", made.digest) != made.digest:
            raise ConfigError(
                f"textworld: task {task.task_id} was made with another version of TextWorld, "
                "which makes another game of its seed; "
                "install that version, or make the tasks anew"
            )

        return made

    def _sit_down(self, task: Task | None) -> _Game:
        made = self._made(task)
        self._game = None  # its memory is given back before more is taken
        self._game = _Game(task, made)
        return self._game

    def _answer(self, call: ToolCall) -> Observation:
        """One call's answer."""

        game = self._live
        command = OVER if game.over else read_call(call)
        if isinstance(command, Command):
            sight: Any = str if command.tool == "go" else game.logic.in_sight
            known = tuple(filter(None, map(sight, command.arguments)))
            if len(known) == len(command.arguments):
                reply = game.do(Command(command.tool, known))
                said = reply.text or "Nothing happens."
                return answer(call, said, failed=not reply.succeeded)

            command = UNSEEN

        return answer(call, command, failed=True)

    def _state_key(self) -> str:
        return content_hash(self._live.logic.facts())
