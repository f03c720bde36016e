"""The one gate to environments: which names this process opens, and how each is started, as its
user says and nobody else.

A task, a row of a dataset and every file below a run folder are data: they name an environment, and
carry its public settings.
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import msgspec
from pydantic import ValidationError

from synth.boundary import guard
from synth.envs.registry import ENVS
from synth.envs.world import EnvEntry
from synth.flows.parts import world
from synth.schemas import ConfigError, Env, EnvSpec, Task, UnboundError, explain, printable

LONGEST_NAME = 80


class SaidByUser(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a user said of an environment: which world it is, how that is started, and where a
    module of theirs is looked for.
    """

    world: str
    start: Mapping[str, Any] = msgspec.field(default_factory=dict)
    folders: tuple[str, ...] = ()


class Bindings:
    """Environments by name. One of the registry that needs no start is bound as it is; what else
    there is, the user has said.
    """

    def __init__(
        self,
        said: Mapping[str, SaidByUser] | None = None,
        *,
        named_in: str = "",
        elsewhere: Callable[[], Mapping[str, SaidByUser]] = dict,
    ) -> None:
        self.said: Mapping[str, SaidByUser] = dict(said or {})
        self._named_in = named_in
        self._elsewhere = elsewhere
        self._worlds: dict[str, EnvEntry] = {}

    def world(self, name: str) -> EnvEntry:
        """The world that a name stands for, ready to be opened. Raises `UnboundError` for a name
        that nobody bound.
        """
        if name not in self._worlds:
            self._worlds[name] = self._found(name)
        return self._worlds[name]

    def open_env(self, name: str, config: Mapping[str, Any]) -> Env:
        """A fresh environment; see `synth.schemas.environment.OpenEnv`. Raises `ConfigError` for
        settings that it does not take.
        """
        found = self.world(name)
        try:
            return found.open(config)
        except ValidationError as error:
            raise ConfigError(
                f"{self._place}environment {_short(name)}: "
                f"{explain(error, found.config, 'env_config')}"
            ) from error

    def make_tasks(
        self, name: str, config: Mapping[str, Any], seed: int, count: int
    ) -> Sequence[Task]:
        """At most `count` tasks; see `synth.schemas.environment.MakeTasks`. Raises `ConfigError`
        for what is no task of that world.
        """
        what = f"world {name!r}: make_tasks"
        made = guard(
            what, lambda: tuple(islice(self.world(name).make_tasks(config, seed, count), count))
        )
        for task in made:
            problem = None
            if not isinstance(task, Task):
                problem = (
                    f"{type(task).__name__}, not a synth.schemas.task.Task (make one with "
                    "Task.identified)"
                )
            elif task.env != name:
                problem = (
                    f"task with env={task.env!r}; it must be {name!r}, as the flow names the world"
                )
            elif not -(2**63) <= task.seed < 2**63:
                problem = f"task with seed {task.seed}: beyond 64 bits; derive seeds modulo 2**63"
            if problem is not None:
                raise ConfigError(f"{what} gave a {problem}")
        return made

    def spec_of(self, name: str, config: Mapping[str, Any]) -> EnvSpec:
        """What an environment is. Raises `UnboundError`."""
        return self.world(name).spec

    @property
    def _place(self) -> str:
        return f"{self._named_in}: " if self._named_in else ""

    def said_of(self, name: str) -> SaidByUser | None:
        """What the user said of a name: here, or `elsewhere`, where nobody looks before."""
        return self.said.get(name) or self._elsewhere().get(name)

    def _found(self, name: str) -> EnvEntry:
        said = self.said_of(name)
        if said is not None:
            return started(name, world(said.world, said.folders), said.start)
        known = world(name) if name in ENVS else None
        if known is None or known.start is not None:
            raise UnboundError(f"{self._place}{_how_to_bind(name, known)}")
        return known


def started(name: str, found: EnvEntry, start: Mapping[str, Any]) -> EnvEntry:
    """A world as its user has it started, whatever tasks of older runs say of that. Raises
    `ConfigError` for what is no start of it.
    """
    if found.start is None:
        return found
    try:
        bound = found.start.bound(found.start.settings.model_validate(dict(start)))
    except ValidationError as error:
        raise ConfigError(
            f"environment {_short(name)}: {explain(error, found.start.settings)}"
        ) from error

    return replace(bound, open=partial(_opened, bound.open, private(found)))


def _opened(
    open_env: Callable[[Mapping[str, Any]], Env], keys: frozenset[str], config: Mapping[str, Any]
) -> Env:
    """Opens an environment without the settings that only its user says; another process of an
    audit can be handed it.
    """
    return open_env({key: value for key, value in config.items() if key not in keys})


def public(found: EnvEntry, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a world without those that only its user says."""
    keys = private(found)
    return {key: value for key, value in settings.items() if key not in keys}


def private(found: EnvEntry) -> frozenset[str]:
    """The settings of a world that only its user says."""
    return frozenset() if found.start is None else frozenset(found.start.settings.model_fields)


def _how_to_bind(name: str, found: EnvEntry | None) -> str:
    fits = len(name) <= LONGEST_NAME and printable(name) == name
    if found is not None and found.start is not None:
        fields = found.start.settings.model_fields.items()
        needed = [f"`{key}: ...`" for key, field in fields if field.is_required()]
        holds = " and ".join([f"`name: {name}`", *needed])
    else:
        holds = (
            "`name:` one of `synth envs`, or package.module:attribute of your own, and its settings"
        )
    return (
        f"the environment {_short(name)} is not bound: data names it, and only you say what starts "
        f"it; add --env {shlex.quote(name) if fits else 'NAME'}=FILE, "
        f"where FILE holds {holds}, as the `env` block of a flow does (docs/security.md)"
    )


def _short(name: str) -> str:
    return repr(name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}...")
