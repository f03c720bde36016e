"""What the stage says at its end: attempts, confirmed labels, why the rest gave none, target and
achieved mix, controls, cost.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from synth.engine.funnel import counted
from synth.engine.numbers import counted_noun
from synth.engine.study.method import method_report
from synth.ledger.ledger import Ledger
from synth.schemas.labels import given
from synth.stats.sequential import MOST_FALSE
from synth.synthesizers.failures.planning import mix_line
from synth.synthesizers.failures.records import (
    ACCEPTED,
    CONTROL,
    REPAIR_TEST,
    TEST,
    Judged,
    Note,
    accepted,
    false_share,
    judged_in,
    noted,
    settled,
    status,
)
from synth.synthesizers.failures.settings import InjectionSettings
from synth.synthesizers.stage_cost import stage_cost

WITH_MODE = frozenset({"rule", "role", "prompt"})
"""Strategies that count for the mix: a natural error has no known mode, and a fault of the world
none at all.
"""


def injection_report(
    ledger: Ledger, stage_key: str, settings: InjectionSettings, *, without_twin: int
) -> Mapping[str, Any]:
    """The report of kind `method`, with further keys for those who read it by program;
    `without_twin` tasks have no clean trial.
    """
    notes = settled(noted(ledger, stage_key))
    tried = [note for note in notes if note.tried]
    reasons = Counter(note.reason for note in tried)
    tested = judged_in(ledger, stage_key)
    share, held = false_share(tested), accepted(tested)
    confirmed = [test for test in held if status(test, share) == "confirmed"]
    verified = Counter(
        str(test.about.mode)
        for test in confirmed
        if test.about.strategy in WITH_MODE and test.metric == TEST
    )
    strategies = Counter(
        "repair" if test.metric == REPAIR_TEST else str(test.about.strategy) for test in confirmed
    )
    cost = stage_cost(ledger, stage_key)
    del reasons[ACCEPTED]
    reasons += Counter({"weak_by_control": len(held) - len(confirmed)})
    lines = list(_lines(notes, tested, settings, verified, strategies, cost))
    if without_twin:
        lines.append(f"{counted_noun(without_twin, 'task')} without a clean trial")
    return method_report(
        "attempts",
        len(tried),
        len(confirmed),
        reasons,
        also=lines,
        modes=dict(verified),
        target=dict(settings.modes),
        by_strategy=dict(strategies),
        methods=dict(Counter(found.about.method for found in held if found.about.method)),
        false_share=share,
        cost=cost,
    )


def _lines(
    notes: list[Note],
    tested: list[Judged],
    settings: InjectionSettings,
    verified: Counter[str],
    strategies: Counter[str],
    cost: Mapping[str, Any],
) -> Iterator[str]:
    if strategies:
        yield f"confirmed by: {counted(strategies)}"
    methods = Counter(str(given(found.about.method) or "none") for found in accepted(tested))
    if methods:
        yield f"tested by: {counted(methods)}"
    if verified:
        yield mix_line(settings.modes, verified)
    controls = sum(found.metric == CONTROL for found in tested)
    if controls:
        share = false_share(tested)
        held = len(accepted(tested, control=True))
        words = f"A/A control: {held} of {controls} accepted"
        words += (
            f", {share:.2f} of the sequential labels expected false" if share is not None else ""
        )
        yield words + (
            f"; more than {MOST_FALSE:g}, so all of them are weak"
            if share is not None and share > MOST_FALSE
            else ""
        )
    for kind, what in (("twin", "cannot be built on"), ("declined", "drawn and ruled out")):
        reasons = Counter(note.reason for note in notes if note.kind == kind)
        if reasons:
            yield f"{what}: {counted(reasons)}"
    left = sum(note.open for note in notes)
    if left:
        yield f"{counted_noun(left, 'attempt')} left to a rerun"
    yield f"cost: {counted_noun(cost['episodes'], 'episode')}, {cost['tokens']:,} tokens" + (
        f", ${cost['usd']:.2f}" if cost["usd"] is not None else ""
    )
