"""A class that cannot be an environment is refused in one line when it is made, or when it is
named.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError

from synth.envs.tool_env import Require, Task, ToolEnv, tool, world_of
from synth.schemas.errors import ConfigError
from tests.envs.tool_env.shelf import Shelf


def with_method(method: Callable[..., object]) -> type[ToolEnv]:
    return type("Made", (Shelf,), {"__doc__": "A shelf.", "given": tool(method)})


def with_field(annotation: Any, **members: Any) -> type[ToolEnv]:
    return type(
        "Made",
        (Shelf,),
        {"__doc__": "A shelf.", "__annotations__": {"depth": annotation}, **members},
    )


def no_docstring(self: Any) -> None: ...


def bare(self: Any, what) -> None:  # type: ignore[no-untyped-def]
    """Do."""


def mapping(self: Any, what: dict[str, int]) -> None:
    """Do."""


def either(self: Any, what: int | str) -> None:
    """Do."""


def many(self: Any, *what: str) -> None:
    """Do."""


def nowhere(self: Any, what: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821
    """Do."""


async def waits(self: Any) -> None:
    """Do."""


ALLOWED = (
    "take str, int, float, bool, Literal, list[...], an Enum of strings, or one of them | None"
)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (no_docstring, "no_docstring: no docstring; the agent reads it as the tool's description"),
        (bare, "bare: what has no annotation, such as str or int"),
        (mapping, f"mapping: what: dict[str, int] is no type of a tool's argument; {ALLOWED}"),
        (either, f"either: what: int | str is no type of a tool's argument; {ALLOWED}"),
        (many, "many: *what: str: arguments have names, so no * and no /"),
        (nowhere, "nowhere: name 'Nowhere' is not defined, which an annotation names"),
        (waits, "waits: a tool is a plain method, without async and yield"),
    ],
)
def test_a_tool_that_no_schema_can_express_is_refused(
    method: Callable[..., object], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        with_method(method)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({}, "Made.depth: a setting needs a default (state is set in start alone)"),
        (
            {"depth": field(default=3)},
            "Made.depth: give a plain default: Annotated[int, Field(ge=1)] = 4",
        ),
        (
            {"depth": Field(3, ge=1)},
            "Made.depth: give a plain default: Annotated[int, Field(ge=1)] = 4",
        ),
        (
            {"depth": 3, "__init__": lambda self: None},
            "Made.__init__: write settings as fields, and set state in start",
        ),
        (
            {"depth": 3, "__annotations__": {"depth": int, "rng": int}},
            "Made.rng: no setting may be called so; leave the annotation out",
        ),
        (
            {"depth": 3, "__doc__": " "},
            "Made: no docstring; the agent reads it as its system prompt",
        ),
        (
            {"depth": 3, "affordances": tool(Shelf.look)},
            "Made.affordances: no tool may be called so",
        ),
    ],
)
def test_a_class_that_breaks_a_rule_of_the_kit_is_refused(
    members: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        with_field(int, **members)
    assert str(refused.value) == said


def test_settings_are_held_to_their_bounds_and_unknown_ones_refused() -> None:
    found = world_of(with_field(Annotated[int, Field(ge=1, le=9)], depth=3))
    found.open({"depth": 9, "size": 2})
    for wrong in ({"depth": 10}, {"depth": "x"}, {"hight": 3}):
        with pytest.raises(ValidationError):
            found.open(wrong)


class Bare(ToolEnv):
    """Nothing yet."""


class Toolless(Bare):
    version, licence = "1", "CC0-1.0"

    def start(self, task: Task | None) -> str:
        return "Go."

    def tasks(self, seed: int, count: int) -> list[Task]:
        return []


class Unsolvable(Toolless):
    calls: str = "none"

    @tool
    def go(self, steps: int) -> None:
        """Go."""

    def tasks(self, seed: int, count: int) -> list[Task]:
        gold = {"unknown": ("run", {}), "wrong": ("go", {"steps": "far"}), "none": None}[self.calls]
        return [Task.new(self, seed, "Go.", Require("gone", True), gold=[gold] if gold else None)]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Bare, "Bare: an environment needs start and tasks and version and licence"),
        (Toolless, "Toolless: an environment needs a method under @tool"),
    ],
)
def test_what_lacks_a_part_is_refused_once_it_is_named(kind: type[ToolEnv], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        world_of(kind)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ("unknown", "Unsolvable.tasks: a gold call of 'run'; there are go"),
        (
            "wrong",
            'Unsolvable.tasks: the gold call go({"steps":"far"}): go: steps: Input should be a '
            "valid integer.",
        ),
    ],
)
def test_a_gold_call_that_no_tool_takes_is_refused_with_the_tasks(calls: str, said: str) -> None:
    found = world_of(Unsolvable)
    assert "expert" not in found.spec.capabilities
    with pytest.raises(ConfigError) as refused:
        found.make_tasks({"calls": calls}, 1, 1)
    assert str(refused.value) == said
