"""What a run of a world came to, in one row: episodes, what could not be read, faults, tokens,
rows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from synth import RunResult
from synth.filters.leaks.evidence import METRIC, JudgedLeak
from synth.ledger import StoredLedger
from synth.ledger.tables.asked_roles import QUESTIONS
from synth.ledger.typed import read
from synth.stats.intervals import clopper_pearson

KINDS = ("sft", "dpo", "kto", "prm", "rl", "attribution")
COUNTS = """
SELECT count(*), count(*) FILTER (outcome = 'success'), count(*) FILTER (outcome = 'invalid'),
  (SELECT count(*) FROM trajectories_all)
FROM trajectories
WHERE synthesizer = 'rollout'
"""
MEASURED = """
SELECT metric, count(*) FROM scores WHERE value IS NOT NULL AND metric IN (
  'rsr', 'pdi', 'pdi_index', 'reflection', 'critical_step', 'injection', 'trajectory_reward'
) GROUP BY metric ORDER BY metric
"""
ROLES = ("writer", "reflector", "injector", "corrector", "judge", "judge (leaks)")
"""Whom the mission asks; a skill writer only where a second attempt succeeds, which is luck."""


@dataclass(frozen=True)
class Row:
    """One world. `asked` is (questions, not read or refused) by role and what it was asked for;
    `episodes` count continuations and retries too; `judge` says how far that of leaks may be
    believed.
    """

    world: str
    trials: int
    solved: int
    episodes: int
    faults: int
    asked: Mapping[str, tuple[int, int]]
    tokens: int
    seconds: float
    rows: Mapping[str, int]
    measured: Mapping[str, int]
    judge: str = ""


def row(world: str, result: RunResult, seconds: float) -> Row:
    """Of a run that has ended, out of its ledger and `cost.json`."""
    ledger = result.ledger
    ((trials, solved, faults, episodes),) = ledger.sql(COUNTS).fetchall()
    asked = {
        f"{role} ({purpose})": (questions, refused + unread)
        for role, purpose, questions, _, _, refused, unread in ledger.sql(QUESTIONS).fetchall()
    }
    judged = (
        one.about.calibration
        for one in read(StoredLedger(str(result.run_dir)), JudgedLeak, (METRIC,))
    )
    believed = next((str(one) for one in judged if one is not None), "")
    total = json.loads(Path(result.run_dir, "cost.json").read_text(encoding="utf-8"))["total"]
    datasets = result.reports["export"]["datasets"]
    return Row(
        world=world,
        trials=trials,
        solved=solved,
        episodes=episodes,
        faults=faults,
        asked=asked,
        tokens=total["prompt_tokens"] + total["completion_tokens"],
        seconds=seconds,
        rows={kind: datasets[kind]["rows"] for kind in KINDS},
        measured=dict(ledger.sql(MEASURED).fetchall()),
        judge=believed,
    )


def missed(rows: Sequence[Row]) -> list[str]:
    """What a run over all worlds must come to, and did not."""
    found = [
        f"no row of kind {kind} over all worlds"
        for kind in KINDS
        if not sum(one.rows[kind] for one in rows)
    ]
    found += [f"{one.world}: {one.faults} trials are faults" for one in rows if one.faults]
    found += [f"{one.world}: no trial was played" for one in rows if not one.trials]
    asked = [f"{name} " for one in rows for name in one.asked]
    found += [
        f"nobody was asked as {role}"
        for role in ROLES
        if not any(name.startswith(f"{role} ") for name in asked)
    ]
    if not any(one.solved for one in rows):
        found.append("no trial was solved in any world")
    return found


def lines(rows: Sequence[Row]) -> list[str]:
    """As Markdown, a world a row, then what roles left unread, and what was measured."""
    head = ["world", "trials", "solved (95 %)", "episodes in all", "faults", "tokens", "seconds"]
    shown = [_line([*head, *KINDS]), _line(["---"] * (len(head) + len(KINDS)))]
    for one in rows:
        cells = [one.world, one.trials, _share(one.solved, one.trials), one.episodes, one.faults]
        cells += [f"{one.tokens:,}", f"{one.seconds:.0f}", *(one.rows[kind] for kind in KINDS)]
        shown.append(_line(cells))
    for one in rows:
        unread = ", ".join(f"{role} {bad} of {n}" for role, (n, bad) in one.asked.items())
        measured = ", ".join(f"{name} {n}" for name, n in one.measured.items())
        shown += ["", f"{one.world}: unreadable or refused: {unread or 'nobody was asked'}"]
        shown.append(f"{one.world}: measured: {measured or 'nothing'}")
        if one.judge:
            shown.append(f"{one.world}: the judge of leaks {one.judge}")
    return shown


def _line(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _share(hits: int, n: int) -> str:
    low, high = clopper_pearson(hits, n)
    return f"{hits} ({100 * low:.0f} to {100 * high:.0f} %)"
