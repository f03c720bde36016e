"""False discoveries and values: what a stage of step tests confirms where no act matters, and how
far the values and labels that are exported lie from the truth.

Run: `python -m benchmarks.gates.values [rule|dice|storefront|sql|textworld|real ...]`; two minutes
of processor time without TextWorld, which compiles its games.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from benchmarks.critical_steps import EXPLORER
from benchmarks.gates.dice import NAME, OTHERS, POLICY, SETTINGS, STUDY, chance
from benchmarks.gates.exported import SCRIPTED, of_pairs, of_steps
from benchmarks.gates.many_stages import GATE, played
from benchmarks.gates.means import Found, Mean
from benchmarks.gates.table import Rate
from benchmarks.world_methods import NOISY
from synth.engine.progress import PlainProgress, progress_for
from synth.flows.synthesize import synthesize
from synth.importers.commit import import_into
from synth.ledger.ledger import StoredLedger
from synth.ledger.typed import Read, labels, read
from synth.pairs import KtoReport, kto_labels
from synth.schemas import Flow, StepLabel, StepValue, given
from synth.stats.intervals import clopper_pearson

REAL = Path(__file__).parents[3] / "shared" / "data"
TASKS = 24


def run(
    env: Mapping[str, Any], explorer: Mapping[str, Any], stages: Any, folder: str
) -> StoredLedger:
    """A run of these stages."""
    os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
    told = {"name": "gates", "seed": 1, "env": env, "models": {"explorer": explorer}}
    flow = Flow.model_validate({**told, "stages": stages})
    asyncio.run(synthesize(flow, f"{folder}/run", PlainProgress(StringIO())))
    return StoredLedger(f"{folder}/run")


def in_dice() -> Found:
    """The engine in a world whose chances are known: states differ and acts do not; acts differ."""
    rates, means = list[Rate](), list[Mean]()
    settings = {"base": 0.5, "spread": 0.25, "gap": 0.0, "real": 1.0}

    for gap in (0.0, 0.4, 0.6):
        source = f"dice world, gap {gap:g}" + (", V(s) .25 or .75" if not gap else "")
        known = {**settings, "gap": gap, "spread": 0.0 if gap else 0.25}
        stages = [{"rollout": {"trials": 1}}, {STUDY: {"ways": 2 if not gap else 1}}]
        with tempfile.TemporaryDirectory() as folder:
            env = {"name": NAME, "tasks": 72, **known}
            ledger = run(env, {"policy": POLICY}, stages, folder)
            rates += _judged(source, ledger, null=not gap)
            means += [_confirmed(source, ledger, f"{gap:g}"), *_values(source, ledger, known)]

    return rates, means


def _tests(ledger: StoredLedger) -> list[Read[StepLabel]]:
    return [row for row in labels(ledger, StepLabel) if given(row.about.accepted) is not None]


def _judged(source: str, ledger: StoredLedger, *, null: bool = False) -> Iterator[Rate]:
    """Yields what was confirmed, what the A/A control says, and what KTO calls desirable; `null`:
    no act matters there.
    """
    tests = _tests(ledger)
    controls = [row for row in tests if row.about.control]
    real = [row for row in tests if not row.about.control]
    confirmed = sum(row.about.status == "confirmed" for row in real)
    yield Rate(source, GATE, "confirmed tests", confirmed, len(real), "")
    hits = sum(row.about.accepted is True for row in controls)
    yield Rate(source, GATE, "A/A accepted", hits, len(controls), "<= .012")

    report = KtoReport()
    list(kto_labels(ledger, SCRIPTED, report))
    states = {(row.subject_id, row.turn) for row in real}
    target = "<= .02" if null else ""
    acts = len(real) + len(states)
    yield Rate(source, "kto", "desirable of tested acts", report.desirable, acts, target)


def _confirmed(source: str, ledger: StoredLedger, truth: str) -> Mean:
    """How large accepted effects are said to be."""
    found = [given(row.about.q_confirm) for row in _tests(ledger) if not row.about.control]
    known = [one for one in found if one is not None]
    return Mean(source, "q_confirm, accepted", known, truth)


def _values(source: str, ledger: StoredLedger, known: Mapping[str, float]) -> Iterator[Mean]:
    """Yields values less the chance that each act has, by path counts and by plain shares."""
    games = {
        one.trajectory_id: int(str(one.opening[0].content).split()[-1].rstrip("."))
        for one in ledger.trajectories()
    }
    ways, dice = _ways(ledger), {name: known[name] for name in SETTINGS}
    rows = [row for row in read(ledger, StepValue, ("step_value",)) if row.value is not None]
    off: dict[str, list[float]] = {}

    for row in rows:
        about = row.about
        truth = chance(dice, games[row.subject_id], ways[about.act])
        whose = "own" if about.act == about.own else "other"
        for how, value in (("path counts", row.value), ("shares", about.successes / about.n)):
            what = f"{how} less the truth, {whose} acts"
            off.setdefault(what, []).append(float(value or 0) - truth)

    for what, values in off.items():
        yield Mean(source, what, values, "0")


def _ways(ledger: StoredLedger) -> Mapping[str, str]:
    """The way that each act takes, by the act's digest."""
    found = {row.about.own: "left" for row in read(ledger, StepValue, ("step_value",))}
    for row in _tests(ledger):
        alternative = given(row.about.alternative)
        if alternative is not None:
            way = alternative.tool_calls[0].parsed()["way"]
            assert way in OTHERS
            found[str(given(row.about.alternative_digest))] = way
    return found


def in_world(world: str, explorer: Mapping[str, Any]) -> Found:
    """A world with a planner that errs, half of the tests A/A."""
    stages = [
        {"rollout": {"trials": 4}},
        {"critical_step": {"control_share": 0.5}},
        {"topology": {}},
    ]
    with tempfile.TemporaryDirectory() as folder:
        ledger = run({"name": world, "tasks": TASKS}, explorer, stages, folder)
        found = [row.about for row in _tests(ledger) if row.about.accepted]
        real = [one for one in found if not one.control]
        shares = [float(one.q_pos or 0) - float(one.q_neg or 0) for one in real]
        means = [
            Mean(world, "plain shares, accepted", shares, "not known"),
            _confirmed(world, ledger, "not known"),
            *of_steps(world, ledger),
            *of_pairs(world, list(ledger.trajectories())),
        ]
        return list(_judged(world, ledger)), means


def of_real() -> Found:
    """Trials of real models; nothing where they are not there."""
    if not REAL.is_dir():
        return [], []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SYNTH_STATE_DIR"] = f"{folder}/state"
        import_into(f"{folder}/run", [REAL], "auto", progress_for(quiet=True))
        trials = list(StoredLedger(f"{folder}/run").trajectories())
    return [], list(of_pairs("real trajectories", trials))


PARTS: Mapping[str, Callable[[], Found]] = {
    "rule": played,
    "dice": in_dice,
    "storefront": partial(in_world, "storefront", EXPLORER),
    "sql": partial(in_world, "sql", NOISY),
    "textworld": partial(in_world, "textworld", NOISY),
    "real": of_real,
}


def measured(names: Sequence[str] = tuple(PARTS)) -> Found:
    """These parts."""
    parts = [PARTS[name]() for name in names]
    return [r for rates, _ in parts for r in rates], [m for _, means in parts for m in means]


def rows() -> list[Rate]:
    """The rates alone."""
    return measured()[0]


def main() -> int:
    """Prints both tables."""
    rates, means = measured(sys.argv[1:] or tuple(PARTS))
    print("| source | gate | what | of | rate | at most (95 %) | target |")
    print("|---|---|---|---|---|---|---|")
    for one in rates:
        high = clopper_pearson(one.hits, one.n, 0.9)[1]
        share = f"{one.hits / one.n:.3f}" if one.n else ""
        cells = (f"{one.hits} of {one.n}", share, f"{high:.3f}", one.target)
        print(f"| {one.source} | {one.gate} | {one.what} | {' | '.join(cells)} |")
    print("\n| source | mean of | n | value (95 %) | truth or target |\n|---|---|---|---|---|")
    for mean in means:
        print(f"| {' | '.join(mean.cells())} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
