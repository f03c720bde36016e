"""Signals, provenance and waste on real trajectories: what they know of failures, of the turns that
people marked, and of lucky passes.

Run: `python -m benchmarks.signals` (needs ../shared/data)
"""

import asyncio
import gzip
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import median
from time import process_time

import msgspec
import numpy as np

from benchmarks.by_task import Estimate, average_precision
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.real_trajectories import DATA, file_of, folders, gold, human_labels, real
from synth.filters.duplicates import DuplicatesConfig, duplicates
from synth.filters.signals import interaction, matching
from synth.filters.signals.signals import found_in
from synth.schemas.environment import Env
from synth.schemas.filtering import Case, Cases
from synth.schemas.outcome import Outcome
from synth.schemas.trajectory import Trajectory
from synth.stats.ranks import auc
from synth.text.provenance import provenance
from synth.topology.keys import trajectory_keys
from synth.topology.waste import waste_share, wasted

TAU = (
    "tau1",
    "tau1_retail",
    "agentrx_tau",
    "tau2_airline",
    "tau2_retail",
    "tau2_retail_multi",
    "tau2_grok",
    "tau2_telecom",
)
LABELLED = ("agentrx_tau", "whowhen_ag")
RESAMPLES = 300
Scores = Mapping[str, float]


class Scored(msgspec.Struct, frozen=True):
    """Something with a label; `group` is what is resampled."""

    group: str
    label: bool
    scores: Scores


def of_trajectory(trajectory: Trajectory) -> dict[str, float]:
    """Suspicions: more means worse."""
    found: dict[str, float] = {}
    for name, corrected in (("published", False), ("corrected", True)):
        score, about = found_in(trajectory, corrected=corrected)
        kinds = [signal.category for signal in about.signals or ()]
        found[f"signals score, {name}"] = -(50.0 if score is None else score)
        found[f"failure and loop signals, {name}"] = sum(
            kind in ("failure", "loops", "exhaustion") for kind in kinds
        )
        found[f"interaction signals, {name}"] = sum(
            kind in ("misalignment", "stagnation", "disengagement") for kind in kinds
        )
    report = provenance(trajectory)
    found["unjustified arguments"] = len(report.unjustified)
    found["unjustified choices"] = report.counts["unjustified_choice"]
    found["waste share"] = waste_share(
        wasted(trajectory, trajectory_keys(trajectory)),
        len(trajectory.turns) or 1,
    )
    found["turns (nothing but length)"] = len(trajectory.turns)
    return found


def of_turns(trajectory: Trajectory) -> list[dict[str, float]]:
    """The same for each turn."""
    turns: list[dict[str, float]] = [
        {"position (earlier is worse)": -float(at)} for at in range(len(trajectory.turns))
    ]
    for name, corrected in (("published", False), ("corrected", True)):
        for turn in turns:
            turn[f"signals, {name}"] = 0.0
        for signal in found_in(trajectory, corrected=corrected)[1].signals or ():
            if signal.turn is not None and signal.category != "satisfaction":
                turns[signal.turn][f"signals, {name}"] = max(
                    turns[signal.turn][f"signals, {name}"], signal.confidence
                )
    report = provenance(trajectory)
    flagged = {f.turn for f in report.unjustified} | {
        c.turn for c in report.choices if c.unjustified
    }
    lost = {
        at for places in wasted(trajectory, trajectory_keys(trajectory)).values() for at in places
    }
    for at, turn in enumerate(turns):
        turn["unjustified argument or choice"] = float(at in flagged)
        turn["waste"] = float(at in lost)
    return turns


def _figure(
    rows: Sequence[Scored], name: str, measure: Callable[[list[tuple[float, bool]]], float]
) -> Estimate:
    """A measure with its interval, whole groups resampled."""
    groups: dict[str, list[tuple[float, bool]]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append((row.scores[name], row.label))
    parts = list(groups.values())
    rng = Random(0)
    drawn = [
        measure([pair for part in rng.choices(parts, k=len(parts)) for pair in part])
        for _ in range(RESAMPLES)
    ]
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return Estimate(measure([pair for part in parts for pair in part]), float(low), float(high))


def _auroc(pairs: list[tuple[float, bool]]) -> float:
    good = [score for score, label in pairs if label]
    bad = [score for score, label in pairs if not label]
    return auc(good, bad) if good and bad else float("nan")


def table(title: str, rows: Sequence[Scored]) -> list[str]:
    """AUROC and average precision of each score, beside the base rate."""
    positives = sum(row.label for row in rows)
    lines = [
        f"### {title}",
        "",
        f"{positives} of {len(rows)} (base rate {positives / len(rows):.3f}); intervals resample "
        "groups.",
        "",
    ]
    lines += ["| score | AUROC | average precision | not 0 |", "|---|---|---|---|"]
    for name in rows[0].scores:
        used = sum(row.scores[name] != 0 for row in rows)
        lines.append(
            f"| {name} | {_figure(rows, name, _auroc)} | {_figure(rows, name, average_precision)} "
            f"| {used} |"
        )
    return [*lines, ""]


def proxies(trajectories: Sequence[Trajectory]) -> dict[str, str]:
    """Trajectory -> its proxy label, by file and simulation."""
    wanted = {row["sim_id"]: row["proxy"] for row in gold("proxy_labels.jsonl")}
    found: dict[str, str] = {}
    for trajectory in trajectories:
        identity = _simulation(trajectory)
        if identity in wanted:
            found[trajectory.trajectory_id] = wanted[identity]
    return found


_FILES: dict[str, list[str]] = {}


def _simulation(trajectory: Trajectory) -> str | None:
    """The id that the benchmark gave a simulation, from the place that it was read from."""
    name = file_of(trajectory)
    locator = (trajectory.source or "").split(":")[2]
    if name not in _FILES:
        paths = list(DATA.glob(f"tau2_*/{name}"))
        text = gzip.decompress(paths[0].read_bytes()).decode() if paths else ""
        if name.endswith(".jsonl.gz"):
            _FILES[name] = [_id_in(json.loads(line)) for line in text.splitlines()]
        else:
            _FILES[name] = (
                [str(simulation["id"]) for simulation in json.loads(text)["simulations"]]
                if paths
                else []
            )
    known = _FILES[name]
    at = int(locator.rsplit("/", 1)[1]) if "/" in locator else int(locator.removeprefix("line")) - 1
    return known[at] if at < len(known) else None


def _id_in(record: Mapping[str, object]) -> str:
    about = record.get("run_info")
    return str(about["simulation_id"]) if isinstance(about, Mapping) else ""


def judged(trajectories: Sequence[Trajectory]) -> dict[str, int]:
    """Rows that the filter `duplicates` drops, by reason."""
    cases = Cases(lambda: (Case(t, None, _no_world) for t in trajectories), len(trajectories))
    verdicts = asyncio.run(duplicates(cases, DuplicatesConfig()))
    counts: dict[str, int] = {}
    for verdict in verdicts.values():
        counts[verdict.reason] = counts.get(verdict.reason, 0) + 1
    return counts


def _no_world(name: str, config: Mapping[str, object]) -> Env:
    raise RuntimeError("a benchmark of recorded trajectories opens no world")


def rate(trajectories: Sequence[Trajectory], rounds: int) -> float:
    """Trajectories per CPU second, nothing remembered from before."""
    seconds = []
    for _ in range(rounds):
        matching.message.cache_clear()
        interaction.forget()
        began = process_time()
        for trajectory in trajectories:
            found_in(trajectory)
        seconds.append(process_time() - began)
    return len(trajectories) / median(seconds)


def measure(most: int | None = None, rounds: int = 3) -> Report:
    """All tables are printed; the figures are the ones that later changes are compared with."""
    tau = [t for t in real(TAU) if t.outcome in (Outcome.SUCCESS, Outcome.FAILURE) and t.turns][
        :most
    ]
    marked = human_labels(LABELLED)
    by_label = [t for t in real(LABELLED) if t.trajectory_id in marked][:most]
    turns = [
        Scored(t.trajectory_id, at in marked[t.trajectory_id], scores)
        for t in by_label
        for at, scores in enumerate(of_turns(t))
    ]
    outcomes = [Scored(t.task_id, t.outcome is Outcome.FAILURE, of_trajectory(t)) for t in tau]
    proxy = proxies([t for t in tau if t.benchmark is not None and t.benchmark.startswith("tau2")])
    known = [
        (t, row)
        for t, row in zip(tau, outcomes, strict=True)
        if (t.benchmark or "").startswith("tau2")
    ]
    lucky = [
        Scored(row.group, proxy.get(t.trajectory_id) == "lucky_or_alternate_pass_proxy", row.scores)
        for t, row in known
        if not row.label
    ]
    aside = [
        Scored(row.group, proxy.get(t.trajectory_id) == "side_effect_proxy", row.scores)
        for t, row in known
        if row.label
    ]
    lines = [
        *table("Failures of tau-bench and tau2-bench (by the benchmark's own check)", outcomes),
        *table("Turns that people marked in failures (Who&When, AgentRx)", turns),
        *table(
            "Passes with a missed gold action or another database (proxy of a lucky or "
            "alternative pass)",
            lucky,
        ),
        *table("Failures with all gold actions done (proxy of a side effect)", aside),
    ]
    copies = {
        name: judged(list(real([name]))[:most])
        for name in ("tau2_es", "sweagent_demos", "tau2_retail_multi")
    }
    lines += [f"copies in {name}: {dict(sorted(found.items()))}" for name, found in copies.items()]
    print("\n".join(lines))
    everything = [t for name in folders() for t in real([name])][:most]
    figures = [
        Figure(
            "signals, nothing remembered",
            rate(everything, rounds),
            "trajectories/s",
            Target("at least", 1000),
        ),
        Figure("trajectories", len(everything)),
    ]
    for title, rows in (
        ("failures", outcomes),
        ("marked turns", turns),
        ("lucky passes", lucky),
        ("side effects", aside),
    ):
        figures.append(Figure(f"{title}: base rate", sum(row.label for row in rows) / len(rows)))
        found = {
            name: _auroc([(row.scores[name], row.label) for row in rows]) for name in rows[0].scores
        }
        best = max(found, key=lambda name: found[name])
        figures.append(Figure(f"{title}: best AUROC ({best})", found[best]))
    figures.append(
        Figure("exact copies in tau2_es, of 20 that are known", copies["tau2_es"].get("exact", 0))
    )
    return Report(
        "Signals, provenance and waste on real trajectories",
        tuple(figures),
        f"{len(tau)} trajectories with an outcome, {len(by_label)} failures with marked turns; "
        "the best of the scores is picked after the "
        f"fact. Rates: CPU seconds, medians of {rounds} rounds.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
