"""`ToolEnv` and `@tool`: an environment as a class whose methods are the agent's tools."""

import dataclasses
import inspect
from abc import ABC, abstractmethod
from collections.abc import (
    Callable,
    Mapping,
    Sequence,
)
from random import Random
from typing import (
    Any,
    ClassVar,
    Self,
    TypeVar,
    dataclass_transform,
    get_type_hints,
    overload,
)

from pydantic import (
    BaseModel,
    ConfigDict,
    create_model,
)
from pydantic.fields import FieldInfo

from synth.envs.tool_env.signature import ToolSignature, tool_of
from synth.schemas import ConfigError, Task

Method = TypeVar("Method", bound=Callable[..., object])
Call = tuple[str, Mapping[str, Any]]
"""A call of a tool: its name and its arguments."""
_MARK = "__synth_tool__"
_NOT_TOOLS = frozenset({"start", "tasks", "hear", "affordances", "settings", "rng"})


@overload
def tool(method: Method, /) -> Method: ...
@overload
def tool(*, read_only: bool = False, ends: bool = False) -> Callable[[Method], Method]: ...
def tool(
    method: Callable[..., object] | None = None,
    /,
    *,
    read_only: bool = False,
    ends: bool = False,
) -> Callable[..., object]:
    """Offers a method of a `ToolEnv` to the agent; the method itself stays as it is.

    Annotations become the tool's schema, the docstring its description. A tool that is
    `read_only` and changes something is at fault. After one that `ends` the episode is over.
    """

    def marked(chosen: Callable[..., object]) -> Callable[..., object]:
        setattr(chosen, _MARK, {"read_only": read_only, "ends": ends})
        return chosen

    return marked if method is None else marked(method)


@dataclass_transform(kw_only_default=True, eq_default=False)
class ToolEnv(ABC):
    """An environment whose methods under `@tool` are what the agent can do.

    The docstring of the class is the agent's system prompt. Annotated fields are settings, each
    with a default. Whatever else the instance holds is the state: plain JSON values, set in
    `start`, changed by tools, and taken along by snapshots.
    """

    version: str = ""
    """Raise it whenever the same calls would be answered or judged differently."""
    licence: str = ""
    blocking: bool = False
    """True where tools compute for long: they then run on threads."""
    name: str = ""
    """As the flow names it; elsewhere `module:Class`, unless the class says another."""

    tools: ClassVar[Mapping[str, ToolSignature]] = {}
    config: ClassVar[type[BaseModel]] = BaseModel
    _seed: int = 0
    _rng: Random | None = None

    @abstractmethod
    def start(self, task: Task | None) -> str:
        """Sets the state in which an episode begins, and gives what the user says first.

        Without a task there is nothing to achieve: an exploration begins.
        """

    @abstractmethod
    def tasks(self, seed: int, count: int) -> Sequence[Task]:
        """That many tasks by `Task.new`; the same seed makes the same ones, another others."""

    def facts(self) -> Mapping[str, object]:
        """What checks look at: the state, but for names that begin with an underscore."""
        return {name: value for name, value in self._state().items() if not name.startswith("_")}

    def hear(self, words: str) -> str | None:
        """What the user answers to words without a call; None, as here, ends the episode."""
        return None

    def affordances(self) -> Sequence[Call]:
        """Calls that could be made now, for policies that choose at random."""
        return ()

    @property
    def rng(self) -> Random:
        """Randomness, seeded by the task (in `tasks`, by the seed); part of snapshots."""
        if self._rng is None:
            self._rng = Random(self._seed)
        return self._rng

    def begun(self, seed: int) -> Self:
        """Another instance as `start(None)` leaves it: what a task with this seed begins from."""
        other = type(self)(**self._chosen())
        other.name, other._seed = self.name, seed % 2**63
        other.start(None)
        return other

    def settings(self) -> dict[str, Any]:
        """The settings that differ from their defaults, as tasks carry them."""
        model = type(self).config.model_validate(self._chosen())
        return model.model_dump(mode="json", exclude_defaults=True)

    def _chosen(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).config.model_fields}

    def _state(self) -> dict[str, Any]:
        kept = {"name", "_seed", "_rng", *type(self).config.model_fields}
        return {name: value for name, value in vars(self).items() if name not in kept}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Raises `ConfigError`, in one line, for what cannot be an environment."""

        super().__init_subclass__(**kwargs)
        own, shown = vars(cls), cls.__qualname__
        if cls.__doc__ is None and cls.__base__ is not ToolEnv:
            cls.__doc__ = getattr(cls.__base__, "__doc__", None)
        if not (cls.__doc__ or "").strip():
            raise ConfigError(f"{shown}: no docstring; the agent reads it as its system prompt")
        if "__init__" in own:
            raise ConfigError(f"{shown}.__init__: write settings as fields, and set state in start")
        if not own.get("name"):
            cls.name = f"{cls.__module__}:{cls.__qualname__}"
        cls.config = _config_of(cls)
        dataclasses.dataclass(kw_only=True, eq=False, repr=False)(cls)
        cls.tools = dict(_tools_of(cls))


def opened(
    kind: type[ToolEnv],
    name: str,
    config: Mapping[str, Any],
) -> ToolEnv:
    """An instance with these settings. Raises pydantic's `ValidationError` for wrong ones."""
    model = kind.config.model_validate(dict(config))
    env = kind(**{setting: getattr(model, setting) for setting in kind.config.model_fields})
    env.name = name
    return env


def _config_of(cls: type[ToolEnv]) -> type[BaseModel]:
    """The settings as a model: annotated fields of the class and of those it is made from.

    Raises `ConfigError` for a field without a plain default, or under a name of the kit's own.
    """

    fields: dict[str, Any] = {}
    kinds = cls.__mro__[: cls.__mro__.index(ToolEnv)]
    try:
        hints = get_type_hints(cls, include_extras=True)
    except NameError as error:
        raise ConfigError(f"{cls.__qualname__}: {error}, which an annotation names") from error

    for name in [name for kind in reversed(kinds) for name in inspect.get_annotations(kind)]:
        where = f"{cls.__qualname__}.{name}"
        if getattr(hints[name], "__origin__", None) is ClassVar or hints[name] is ClassVar:
            continue
        if hasattr(ToolEnv, name) or name.startswith("_"):
            raise ConfigError(f"{where}: no setting may be called so; leave the annotation out")
        if not hasattr(cls, name):
            raise ConfigError(f"{where}: a setting needs a default (state is set in start alone)")
        default = getattr(cls, name)
        if isinstance(default, dataclasses.Field | FieldInfo):
            raise ConfigError(f"{where}: give a plain default: Annotated[int, Field(ge=1)] = 4")
        fields[name] = (hints[name], default)

    settled = ConfigDict(frozen=True, extra="forbid")

    return create_model(f"{cls.__name__}Settings", __config__=settled, **fields)


def _tools_of(cls: type[ToolEnv]) -> dict[str, ToolSignature]:
    """The tools in the order in which they are written, inherited ones first.

    Raises `ConfigError` for one under a name of the kit's own.
    """

    names = dict.fromkeys(name for kind in reversed(cls.__mro__) for name in vars(kind))
    members: dict[str, Any] = {name: getattr(cls, name, None) for name in names}
    marked = {name: method for name, method in members.items() if hasattr(method, _MARK)}
    for name in marked:
        if name in _NOT_TOOLS or name.startswith("_"):
            raise ConfigError(f"{cls.__qualname__}.{name}: no tool may be called so")

    return {name: tool_of(name, one, **getattr(one, _MARK)) for name, one in marked.items()}
