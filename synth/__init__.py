"""The public API: `from synth import ...`. Every other name is private and may change.

A name is imported when it is first asked for: `import synth` loads no package but this one.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth.api.comparisons import diff as diff
    from synth.api.comparisons import graph as graph
    from synth.api.opened import Ledger as Ledger
    from synth.api.opened import open_ledger as open_ledger
    from synth.api.pages import write_report as write_report
    from synth.api.replays import recheck as recheck
    from synth.api.replays import replay as replay
    from synth.api.runs import RunResult as RunResult
    from synth.api.runs import curate as curate
    from synth.api.runs import run as run
    from synth.divergence import Divergence as Divergence
    from synth.engine.replaying import RecheckTally as RecheckTally
    from synth.engine.replaying import ReplayTally as ReplayTally
    from synth.schemas.environment import Env as Env
    from synth.schemas.environment import EnvSpec as EnvSpec
    from synth.schemas.errors import ConfigError as ConfigError
    from synth.schemas.errors import SynthError as SynthError
    from synth.schemas.filter import Case as Case
    from synth.schemas.filter import Filter as Filter
    from synth.schemas.filter import Measure as Measure
    from synth.schemas.filter_function import filter as filter
    from synth.schemas.flow import Flow as Flow
    from synth.schemas.outcome import Fault as Fault
    from synth.schemas.outcome import Outcome as Outcome
    from synth.schemas.task import Task as Task
    from synth.schemas.trajectory import Observation as Observation
    from synth.schemas.trajectory import ToolCall as ToolCall
    from synth.schemas.trajectory import Trajectory as Trajectory
    from synth.schemas.trajectory import Turn as Turn
    from synth.schemas.verdict import Verdict as Verdict

_WHERE = {
    "synth.engine.replaying": (
        "RecheckTally",
        "ReplayTally",
    ),
    "synth.divergence": ("Divergence",),
    "synth.api.pages": ("write_report",),
    "synth.api.comparisons": (
        "diff",
        "graph",
    ),
    "synth.api.replays": (
        "recheck",
        "replay",
    ),
    "synth.api.opened": ("Ledger", "open_ledger"),
    "synth.api.runs": ("RunResult", "curate", "run"),
    "synth.schemas.environment": ("Env", "EnvSpec"),
    "synth.schemas.errors": ("ConfigError", "SynthError"),
    "synth.schemas.filter": ("Case", "Filter", "Measure"),
    "synth.schemas.filter_function": ("filter",),
    "synth.schemas.flow": ("Flow",),
    "synth.schemas.outcome": ("Fault", "Outcome"),
    "synth.schemas.task": ("Task",),
    "synth.schemas.trajectory": ("Observation", "ToolCall", "Trajectory", "Turn"),
    "synth.schemas.verdict": ("Verdict",),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}
__all__ = sorted(_MODULES)

if not TYPE_CHECKING:  # else every other name would have a type too

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module 'synth' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(_MODULES[name]), name)
        return value


def __dir__() -> list[str]:
    return [*__all__, "__doc__"]
