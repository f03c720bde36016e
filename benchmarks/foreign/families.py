"""The real trajectories, each family in a run of its own, or all in one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.real_trajectories import DATA, folders
from synth.engine.progress import PlainProgress
from synth.importers.commit import import_into
from synth.importers.records import ImportSettings

APART = ("tau2_domains",)
"""Tasks and policies alone."""


def families() -> list[str]:
    """Those with trajectories. Raises `ConfigError` where the data is not there."""
    return [name for name in folders() if name not in APART]


@contextmanager
def imported(names: Sequence[str]) -> Iterator[str]:
    """A run that holds these families, as long as it is looked at."""
    with TemporaryDirectory() as folder:
        url = str(Path(folder) / "run")
        sources = [DATA / name for name in names]
        import_into(url, sources, "auto", PlainProgress(StringIO()), ImportSettings())
        yield url
