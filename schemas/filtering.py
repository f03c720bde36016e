"""A filter: a function from a trajectory, from the trials of a task, or from a corpus, to verdicts,
which each dataset kind honours or not; what it measures is kept apart.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Concatenate, Literal, ParamSpec

import msgspec
from pydantic import BaseModel, ConfigDict

from synth.schemas.canonical import StrictRecord
from synth.schemas.environment import OpenEnv
from synth.schemas.task import Task
from synth.schemas.text.settings import given, keyword_settings
from synth.schemas.trajectory import Trajectory

UNVERIFIED = "unverified"
"""The reason of a decision that a judge would have to make, and none has made."""
JUDGED = "judged"
"""In the detail of a verdict that rests on a model: how far that one agrees with what is known."""


class Verdict(StrictRecord, frozen=True):
    """Keep, drop or undefined (None); `reason` is a short stable name that becomes a counter.

    `detail` is for people. `masks`: turns that carry no loss where it takes a row as a recovery.
    `judged`: of a stored one that rests on a model, what `detail` says of that one's agreement.
    """

    keep: bool | None
    reason: str
    score: float | None = None
    detail: Mapping[str, Any] = msgspec.field(default_factory=dict)
    masks: Mapping[int, str] = msgspec.field(default_factory=dict)
    judged: str | None = None


Scope = Literal["trajectory", "task", "corpus"]


class FilterSettings(BaseModel):
    """Settings of a filter; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Measure(msgspec.Struct, frozen=True):
    """A number about a trajectory, or about one of its turns; None = undefined.

    `about` says what stands behind it, or why there is none: a struct
    (`synth.schemas.evidence.measures`), which the filter gets back when its measures are read
    again, or a mapping for people alone.
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


P = ParamSpec("P")
Judging = Callable[Concatenate[Case, P], Awaitable[Verdict]]


def filter(*, version: int = 1, opens: bool = False) -> Callable[[Judging[P]], Filter]:
    """Makes `async def short(case: Case, *, longest: int = 20) -> Verdict` a filter, in a flow
    `package.module:short`.

    Keyword parameters are its settings, each with an annotation; those without a default must be
    given. Raise `version` where the function decides otherwise than before: it then judges
    everything anew. `opens`: it opens environments (`case.open_env`). Raises `ConfigError` for a
    function that cannot be one.
    """

    def made(function: Judging[P]) -> Filter:
        config = keyword_settings(function, "filter", "case")
        return Filter(config=config, judge=_judging(function), version=version, opens=opens)

    return made


def _judging(function: Callable[..., Awaitable[Verdict]]) -> Callable[..., Awaitable[Verdict]]:
    async def judge(case: Case, settings: BaseModel) -> Verdict:
        return await function(case, **given(settings))

    return judge
