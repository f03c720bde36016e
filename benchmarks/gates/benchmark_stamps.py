"""`python -m benchmarks.gates.benchmark_stamps`: are public tasks known wherever they stand, and is
nobody else's task taken for one?

Misses on the public attempts of ../shared/data; false alarms on the attempts there at tasks that
students made, and on the goals of our own worlds. Baseline: a stamp by the file's format, as
before, which has every attempt of the students' for a public one.
"""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.gates.table import Rate, table
from synth.flows.parts import world
from synth.importers.identity.known import benchmark_of
from synth.importers.load import Opened, opened
from synth.importers.records import Imported

DATA = Path(__file__).parents[2].parent / "shared" / "data"
PUBLIC = {
    "tau1": "/airline",
    "tau1_retail": "/retail",
    "agentrx_tau": "/retail",
    "tau2_airline": "/airline",
    "tau2_grok": "/airline",
    "tau2_retail": "/retail",
    "tau2_retail_multi": "/retail",
    "tau2_telecom": "/telecom",
    "whowhen_ag": "/algorithm-generated",
}
STUDENTS = "tau2_es"
WORLDS = {"storefront": 100, "sql": 60, "textworld": 12}
"""Our own worlds, and how many of their tasks are drawn: games take seconds each."""
GATE = "benchmark stamps"


def rows() -> list[Rate]:
    """All sources; real ones only where the data is here."""
    return [*(_real() if DATA.is_dir() else ()), *map(_world, WORLDS)]


def _stamps(folder: str) -> Iterator[str | None]:
    for file in opened([DATA / folder]):
        for entry in file.entries if isinstance(file, Opened) else ():
            if isinstance(entry, Imported):
                yield entry.trajectory.benchmark


def _real() -> Iterator[Rate]:
    missed = n = 0
    for folder, ending in PUBLIC.items():
        found = list(_stamps(folder))
        n += len(found)
        missed += sum(not (one or "").endswith(ending) for one in found)
    students = list(_stamps(STUDENTS))
    alarms = sum(one is not None for one in students)

    yield Rate("real, public tasks", GATE, "misses", missed, n, "<= 5 %")
    yield Rate("real, students' tasks", GATE, "false alarms", alarms, len(students), "<= 5 %")
    by_format = "false alarms by format"
    yield Rate("real, students' tasks", GATE, by_format, len(students), len(students), "baseline")


def _world(name: str) -> Rate:
    goals = [task.goal for task in world(name).make_tasks({}, 0, WORLDS[name])]
    alarms = sum(benchmark_of(goal, "task") is not None for goal in goals)
    return Rate(name, GATE, "false alarms", alarms, len(goals), "<= 5 %")


if __name__ == "__main__":
    print("\n".join(table(rows())))
