"""A shelf with items in boxes: small enough to know every answer, with holes that can be planted in
its check, expert and goals.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict

from synth.envs.bots import expert
from synth.envs.echo_check import state_verdicts
from synth.envs.world import EnvEntry
from synth.schemas.canonical import canonical_json, content_hash
from synth.schemas.check import CheckResult, Facts, Refusal, Scalar, SubVerdict
from synth.schemas.environment import AgentTurn, EnvSpec, Opening, Response
from synth.schemas.reverse import Draft, NoGoal, Window
from synth.schemas.task import Task
from synth.schemas.trajectory import Observation, Source, ToolCall

NAME = "tests.synthesizers.reverse.shelf_world:WORLD"
BOXES = ("box-1", "box-2", "box-3", "box-4")
SEALED = "box-4"
COLOURS = ("blue", "green", "red")
ITEMS = ("cup-1", "cup-2", "cup-3")
TOOLS = tuple(
    {
        "type": "function",
        "function": {
            "name": name,
            "description": name,
            "parameters": {
                "type": "object",
                "properties": {key: {"type": "string"} for key in keys},
                "required": list(keys),
            },
        },
    }
    for name, keys in {
        "move": ("item", "box"),
        "paint": ("item", "colour"),
        "ring": (),
        "look": ("box",),
        "refuse": ("rule",),
        "finish": (),
    }.items()
)
_END = "|".join((*BOXES, *COLOURS))
_WISH = re.compile(rf"(?:({_END})(?: and)? )?({'|'.join(ITEMS)})(?:(?: and)? ({_END}))?")
"""What an item is to come to, said before it or after it."""
SPEC = EnvSpec(
    name=NAME,
    version="1",
    licence="Apache-2.0",
    capabilities=frozenset({"affordances", "facts", "expert"}),
    facts={
        "items/*/*": "required",
        "boxes/*/*": "protected",
        "bell/*/*": "free",
        "refused/*/*": "free",
    },
)
Hole = Literal[
    "none",
    "ignores_protected",
    "passes_everything",
    "expert_lost",
    "one_order_only",
    "colour_is_free",
    "everything_is_free",
]


class ShelfConfig(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int = 0
    hole: Hole = "none"
    raises: bool = False
    bell_first: bool = False


def call(name: str, **arguments: str) -> AgentTurn:
    return AgentTurn(tool_calls=(ToolCall("call", name, canonical_json(arguments).decode()),))


def start_of(config: ShelfConfig) -> dict[str, Scalar]:
    draw = Random(config.start)
    facts: dict[str, Scalar] = {f"boxes/{box}/sealed": box == SEALED for box in BOXES}
    for item in ITEMS:
        facts[f"items/{item}/place"], facts[f"items/{item}/colour"] = (
            draw.choice(BOXES[:3]),
            draw.choice(COLOURS),
        )
    return facts | {"bell/0/rings": 0}


class Shelf:
    spec = SPEC

    def __init__(self, config: ShelfConfig) -> None:
        self._config = config

    async def reset(self, task: Task | None) -> Opening:
        self._config = ShelfConfig.model_validate(dict(task.env_config)) if task else self._config
        self._task, self._start, self._over, self._writes = task, start_of(self._config), False, []
        self._facts = dict(self._start)
        return Opening(
            "Tidy the shelf.",
            TOOLS,
            (Observation(task.goal if task else "Look around.", Source.USER),),
            self._key(),
        )

    async def step(self, turn: AgentTurn) -> Response:
        if self._config.raises:
            raise RuntimeError("planned: the shelf breaks")
        seen = tuple(self._answer(one) for one in turn.tool_calls) or (
            Observation("Use the tools.", Source.ENVIRONMENT, error=True),
        )
        return Response(seen, self._key(), done=self._over)

    def _answer(self, done: ToolCall) -> Observation:
        def said(text: str, *, error: bool = False) -> Observation:
            return Observation(text, Source.TOOL, done.call_id, done.name, error)

        arguments = done.parsed() if done.parse_error is None else {}
        if self._over:
            return said("It is over.", error=True)
        if self._config.bell_first and done.name == "move" and not self._facts["bell/0/rings"]:
            return said("Ring the bell first.", error=True)
        match done.name, arguments:
            case "move", {"item": str(item), "box": str(box)} if item in ITEMS and box in BOXES:
                if box == SEALED:
                    return said(f"denied: S1: {box} is sealed", error=True)
                return self._set(said, f"items/{item}/place", box)
            case "paint", {"item": str(item), "colour": str(colour)} if (
                item in ITEMS and colour in COLOURS
            ):
                return self._set(said, f"items/{item}/colour", colour)
            case "ring", _:
                self._facts["bell/0/rings"] = int(str(self._facts["bell/0/rings"])) + 1
                return said("Ding.")
            case "look", {"box": str(box)}:
                return said(
                    f"{box}: "
                    + ", ".join(item for item in ITEMS if self._facts[f"items/{item}/place"] == box)
                )
            case "refuse", {"rule": str(rule)}:
                self._facts[f"refused/{rule}/said"] = True
                return said("Noted.")
            case "finish", _:
                self._over = True
                return said("Bye.")
        return said("That cannot be done.", error=True)

    def _set(self, said: Any, path: str, value: str) -> Observation:
        if self._facts[path] == value:
            return said("It is so already.", error=True)
        self._facts[path] = value
        self._writes.append(path)
        return said("Done.")

    async def check(self) -> CheckResult:
        changed = {
            path: value for path, value in self._facts.items() if self._start.get(path) != value
        }
        if self._task is None or self._task.check is None:
            return CheckResult(False, facts=changed)
        hole, check = self._config.hole, self._task.check
        if hole == "passes_everything":
            return CheckResult(bool(self._writes), facts=changed)
        parts = state_verdicts(check, self._start, self._facts)
        parts = parts[:1] if hole == "ignores_protected" else parts
        refused = all(f"refused/{refusal.rule}/said" in self._facts for refusal in check.refusals)
        guessed = any(path.startswith("refused/") for path in self._facts) and not check.refusals
        parts = (*parts, SubVerdict("refusals", refused and not guessed))
        if hole == "one_order_only":
            parts = (*parts, SubVerdict("order", self._writes == sorted(self._writes)))
        return CheckResult(all(part.passed for part in parts), parts, changed)

    async def close(self) -> None:
        """Holds nothing."""

    async def facts(self) -> Facts:
        return dict(self._facts)

    async def affordances(self) -> Sequence[AgentTurn]:
        if self._over:
            return ()
        moves = [call("move", item=item, box=box) for item in ITEMS for box in BOXES]
        paints = [call("paint", item=item, colour=colour) for item in ITEMS for colour in COLOURS]
        return [
            *moves,
            *paints,
            call("ring"),
            *(call("look", box=box) for box in BOXES),
            call("finish"),
        ]

    async def expert(self, profile: str | None = None, seed: int = 0) -> AgentTurn:
        check = self._task.check if self._task else None
        if check is None or self._config.hole == "expert_lost":
            return call("finish")
        left, rules = [], []
        for one, item, other in _WISH.findall(self._task.goal if self._task else ""):
            wanted = one or other
            name, column = ("box", "place") if wanted in BOXES else ("colour", "colour")
            if wanted == SEALED:
                rules += ["S1"] if "refused/S1/said" not in self._facts else []
            elif self._facts[f"items/{item}/{column}"] != wanted:
                tool = "move" if name == "box" else "paint"
                left.append(call(tool, **{"item": item, name: wanted}))
        if self._config.bell_first and left and not self._facts["bell/0/rings"]:
            return call("ring")
        left += [call("refuse", rule=rule) for rule in rules]
        Random(seed).shuffle(left)
        return left[0] if left else call("finish")

    def _key(self) -> str:
        return content_hash(self._facts)


def write_goal(window: Window) -> Draft | NoGoal:
    """One sentence per operation; a changed item and its new value in each."""
    said, masked, refusals = [], [], []
    for operation in window.operations:
        done = operation.turn.tool_calls[0]
        arguments = done.parsed()
        if operation.denied is not None:
            refusals.append(Refusal("0", operation.denied))
        said.append(f"{done.name} {' '.join(sorted(map(str, arguments.values())))}.")
        masked.append(done.name)
    hole = dict(window.env_config).get("hole")
    free = {"colour_is_free": ("items/*/colour",), "everything_is_free": ("items/*/*",)}.get(
        str(hole), ()
    )
    return Draft(
        " ".join(said), tuple(said), " + ".join(sorted(masked)), refusals=tuple(refusals), free=free
    )


def make_tasks(config: Mapping[str, Any], seed: int, count: int) -> Sequence[Task]:
    return ()


def exploring(settings: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    return {**settings, "start": seed}


def opened(config: Mapping[str, Any]) -> Any:
    return Shelf(ShelfConfig.model_validate(dict(config)))


WORLD = EnvEntry(SPEC, opened, make_tasks, ShelfConfig, write_goal=write_goal, exploring=exploring)
NO_FACTS = EnvEntry(
    msgspec.structs.replace(SPEC, capabilities=frozenset({"affordances"})),
    opened,
    make_tasks,
    ShelfConfig,
    write_goal=write_goal,
)
NO_WAYS = EnvEntry(
    msgspec.structs.replace(SPEC, capabilities=frozenset({"expert"})),
    opened,
    make_tasks,
    ShelfConfig,
    write_goal=write_goal,
)
NO_RULES = EnvEntry(SPEC, opened, make_tasks, ShelfConfig, exploring=exploring)
NO_EXPERT = EnvEntry(
    msgspec.structs.replace(SPEC, capabilities=frozenset({"affordances", "facts"})),
    opened,
    make_tasks,
    ShelfConfig,
    write_goal=write_goal,
)
PASSING_MUTANT = replace(WORLD, mutants=lambda task, transcript: [("planted", transcript.actions)])
FAILING_ALTERNATIVE = replace(WORLD, alternatives=lambda task, transcript: [("planted", ())])
KNOWING_BOT = replace(WORLD, bots={"planted": expert()})


def without_refusals(window: Window) -> Draft | NoGoal:
    draft = write_goal(window)
    return draft if isinstance(draft, NoGoal) else msgspec.structs.replace(draft, refusals=())


UNCHECKED_REFUSALS = replace(WORLD, write_goal=without_refusals)
