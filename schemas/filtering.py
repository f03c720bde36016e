"""A filter: a function from a trajectory, from the trials of a task, or from a corpus, to verdicts;
what it measures is kept apart.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, ConfigDict

from synth.schemas.environment import OpenEnv
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.schemas.verdict import Verdict

Scope = Literal["trajectory", "task", "corpus"]


class FilterSettings(BaseModel):
    """Settings of a filter; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Measure(msgspec.Struct, frozen=True):
    """A number about a trajectory, or about one of its turns; None = undefined.

    `about` says what stands behind it, or why there is none: a struct (`synth.schemas.measures`),
    which the filter gets back when its measures are read again, or a mapping for people alone.
    """

    metric: str
    value: float | None
    turn: int | None = None
    about: Any = None


class Case(msgspec.Struct, frozen=True):
    """A trajectory, its task (None where the ledger has none), the means to open its world again,
    and what the filter measured of it.
    """

    trajectory: Trajectory
    task: Task | None
    open_env: OpenEnv
    measures: Sequence[Measure] = ()


class FilterResult(msgspec.Struct, frozen=True):
    """What a filter of tasks or of a corpus may give beside its verdicts: lines for the funnel, and
    numbers about subjects of its own.
    """

    verdicts: Mapping[str, Verdict]
    notes: Sequence[str] = ()
    measures: Mapping[str, Sequence[Measure]] = msgspec.field(default_factory=dict)


class Cases:
    """The cases of a corpus: may be iterated as often as needed, a few hundred in memory at a
    time.
    """

    def __init__(self, begin: Callable[[], Iterator[Case]], count: int) -> None:
        self._begin = begin
        self._count = count

    def __iter__(self) -> Iterator[Case]:
        return self._begin()

    def __len__(self) -> int:
        return self._count


class Filter(msgspec.Struct, frozen=True):
    """What a registry entry is. `judge` takes, by `scope`, and always with the settings last:

    trajectory: a `Case`, and gives a `Verdict`; task: the cases of a task's trials, and gives
    verdicts by trajectory id;
    corpus: `Cases`, and gives verdicts by trajectory id (memory: a signature per case at most);
    both may give `FilterResult` instead.

    `measure(case, settings, means)` gives at least one `Measure`; its rows are kept under the
    settings named in `measured`, so that a
    changed threshold measures nothing again. `means` is a `synth.engine.asking.SourceMeans`;
    `roles(settings)` names the flow's models that are
    needed, `optional_roles(settings)` those that are used where the flow has them. `about`: what
    stands behind its measures. `opens`: it opens environments again, so all is judged
    anew once one is bound that was not.
    """

    config: type[BaseModel]
    judge: Callable[..., Awaitable[Any]]
    scope: Scope = "trajectory"
    measure: Callable[..., Awaitable[Sequence[Measure]]] | None = None
    measured: tuple[str, ...] = ()
    about: Any = dict[str, Any]
    version: int = 1
    roles: Callable[[Any], Sequence[str]] = lambda settings: ()
    optional_roles: Callable[[Any], Sequence[str]] = lambda settings: ()
    opens: bool = False
