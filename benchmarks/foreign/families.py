"""The real trajectories, each family in a run of its own, or all in one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.real_trajectories import DATA, folders
from synth.api.runs import run
from synth.engine.progress import PlainProgress
from synth.importers.commit import import_into
from synth.importers.records import ImportSettings
from synth.schemas.flow import Flow

APART = ("tau2_domains",)
"""Tasks and policies alone."""


def families() -> list[str]:
    """Those with trajectories. Raises `ConfigError` where the data is not there."""
    return [name for name in folders() if name not in APART]


WORLDS = {"sql": {"tasks": 24}, "textworld": {"tasks": 16}}
"""Worlds of ours beside them, with their settings."""


@contextmanager
def played(world: str) -> Iterator[str]:
    """A run that holds logged trials of a planner that errs now and then in a world."""
    planner = {
        "policy": "mixture",
        "of": [{"policy": "expert", "weight": 12}, {"policy": "random"}],
    }
    with TemporaryDirectory() as folder:
        url, logs = str(Path(folder) / "run"), Path(folder) / "logs"
        flow = {"name": "logs", "seed": 11, "env": {"name": world, **WORLDS[world]}}
        flow |= {"models": {"explorer": planner}, "stages": [{"rollout": {"trials": 6}}]}
        run(Flow.model_validate(flow), run_dir=logs, quiet=True)
        import_into(url, [logs], "auto", PlainProgress(StringIO()), ImportSettings())
        yield url


@contextmanager
def imported(names: Sequence[str]) -> Iterator[str]:
    """A run that holds these families, as long as it is looked at."""
    with TemporaryDirectory() as folder:
        url = str(Path(folder) / "run")
        sources = [DATA / name for name in names]
        import_into(url, sources, "auto", PlainProgress(StringIO()), ImportSettings())
        yield url
