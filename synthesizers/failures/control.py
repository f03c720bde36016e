"""What the A/A control says of the tests: where too many accepted ones are expected to be false,
all labels are weak.
"""

from collections.abc import Sequence

import msgspec

from synth.ledger.ledger import Ledger, Score
from synth.ledger.typed import Read, committed
from synth.schemas.labels import UNSET, AttributionLabel, Status, given
from synth.stats.sequential import MOST_FALSE, expected_false_share
from synth.synthesizers.failures.labels import CONTROL, REPAIR_TEST, TEST

Judged = Read[AttributionLabel]
"""A test or a control, as it ended: value 1 accepted, 0 not."""


def judged_in(ledger: Ledger, stage_key: str) -> list[Judged]:
    """Those that a stage has committed."""
    return list(committed(ledger, stage_key, AttributionLabel, (TEST, REPAIR_TEST, CONTROL)))


def accepted(tested: Sequence[Judged], *, control: bool = False) -> list[Judged]:
    """The tests that were accepted, or the controls."""
    return [one for one in tested if one.value == 1 and (one.metric == CONTROL) == control]


def false_share(tested: Sequence[Judged]) -> float | None:
    """The share of the accepted sequential tests that is expected to be false; None where no
    control was played.
    """
    sequential = [found for found in tested if found.about.method == "sequential"]
    controls = sum(found.metric == CONTROL for found in sequential)
    return expected_false_share(
        len(accepted(sequential, control=True)),
        controls,
        len(sequential) - controls,
        len(accepted(sequential)),
    )


def status(test: Judged, share: float | None) -> Status:
    """What a label made of a test is worth, under that share of false ones."""
    false = share is not None and share > MOST_FALSE and test.about.method == "sequential"
    return "weak" if test.value != 1 or false else "confirmed"


def labels(tested: Sequence[Judged]) -> list[Score]:
    """The labels that follow from all tests and controls of a stage: 1 confirmed, 0 weak."""
    share, found = false_share(tested), []
    for test in (test for test in tested if test.metric != CONTROL):
        worth = status(test, share)
        label = msgspec.structs.replace(test.about, status=worth, fdr=share, label=UNSET)
        metric = str(given(test.about.label))
        found.append(Score(test.subject_id, metric, float(worth == "confirmed"), test.turn, label))
    return found
