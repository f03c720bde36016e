"""The last lines of a run: what its faults were, what to look at, why it stopped, and what to do
next.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from synth.engine.context import Run
from synth.engine.numbers import counted_noun
from synth.engine.repaired_turns import repaired_turns
from synth.engine.silent_roles import unanswered_roles
from synth.engine.user_words import user_words
from synth.ledger.ledger import Ledger
from synth.schemas.outcome import Fault, Outcome

Reports = Mapping[str, Mapping[str, Any]]

SHOWN = 3
_TURN = re.compile(r"^(turn|step) \d+")


def commonest(details: Counter[str]) -> dict[str, int]:
    """The commonest details of faults, whatever the turn in which they came, the largest first."""
    alike: Counter[str] = Counter()
    for detail, count in details.items():
        alike[_TURN.sub(r"\1", detail)] += count
    return dict(sorted(alike.items(), key=lambda item: (-item[1], item[0]))[:SHOWN])


def failure(reports: Reports) -> str | None:
    """One line where attempts were made and every one of them ended in a fault: nothing can be
    learnt from such a run.
    """
    made: Counter[str] = Counter()
    details: Counter[str] = Counter()
    for report in _episodes(reports):
        made.update(report["outcomes"])
        details.update(report.get("details", {}))
    if not made[Outcome.INVALID] or made.total() > made[Outcome.INVALID]:
        return None
    why = f"; the commonest: {max(details, key=lambda detail: details[detail])}" if details else ""
    return f"none of the {counted_noun(made.total(), 'attempt')} is valid, all ended in faults{why}"


def closing_lines(run: Run, reports: Reports) -> Iterator[tuple[str, str]]:
    """What stands below the funnel and the paths, each as (label, text); under `look` the shortest
    beginning of an id that names one trajectory, where the run outlives this process.
    """
    for report in _episodes(reports):
        for detail, count in report.get("details", {}).items():
            yield "fault", f"{count:,} x {detail}"
    broken = sum(report["faults"].get(Fault.ENVIRONMENT, 0) for report in _episodes(reports))
    if broken and run.flow.env is not None:
        yield (
            "world",
            f"{counted_noun(broken, 'attempt')} ended in faults of the world, which "
            "would only repeat themselves: a rerun leaves "
            f"them out; after a fix raise `version` in the EnvSpec of {run.flow.env.name} to run "
            "its episodes again",
        )
    for line in unanswered_roles(run):
        yield "role", line
    for label, said in (("user", user_words(run)), ("repairs", repaired_turns(run))):
        if said is not None:
            yield label, said
    shown = _worth_a_look(run)
    if shown is not None and not run.ledger.storage.url.startswith("memory:"):
        yield "look", _shortest(run.ledger, shown)
    if run.stopped is not None:
        yield "stopped", f"{run.stopped}: no further episode was started; {_advice(run.stopped)}"
        overrun = run.budget.overrun()
        if overrun is not None:
            yield "over", overrun


def _shortest(ledger: Ledger, identity: str) -> str:
    every = {record.trajectory_id for shard in ledger.state.shards for record in shard.slots}
    return next(
        identity[:n]
        for n in range(8, len(identity) + 1)
        if sum(one.startswith(identity[:n]) for one in every) == 1
    )


def _advice(stopped: str) -> str:
    """How to go on after a ceiling."""
    if stopped.startswith("max_hours"):
        return "run again to go on, its clock begins anew"
    return (
        "raise it and run again to go on"
        if stopped.endswith("is reached")
        else "take it out and run again to go on without"
    )


def _episodes(reports: Reports) -> list[Mapping[str, Any]]:
    return [report for report in reports.values() if report["kind"] == "episodes"]


def _worth_a_look(run: Run) -> str | None:
    """A trajectory of the current flow: a valid one, else one that ended in a fault."""
    state = run.ledger.state
    valid = state.current_valid()
    if valid:
        return valid[0]
    whole, _ = state.visible()
    return next((record.trajectory_id for shard in whole for record in shard.slots), None)
