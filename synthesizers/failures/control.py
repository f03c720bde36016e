"""What the A/A control says of the tests: where too many accepted ones are expected to be false,
all labels are weak.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.ledger.ledger import Ledger, Score
from synth.stats.sequential import MOST_FALSE, expected_false_share
from synth.synthesizers.failures.labels import CONTROL, REPAIR_TEST, TEST

TESTS = frozenset({TEST, REPAIR_TEST})


class Judged(msgspec.Struct, frozen=True):
    """A test or a control, as it ended."""

    subject_id: str
    turn: int | None
    metric: str
    accepted: bool
    detail: Mapping[str, Any]

    @property
    def method(self) -> str | None:
        """`sequential`, or `flip_deterministic`, which has no control and needs none."""
        found: str | None = self.detail.get("method")
        return found

    @property
    def control(self) -> bool:
        return self.metric == CONTROL


def judged_in(ledger: Ledger, stage_key: str) -> Iterator[Judged]:
    """Those that a stage has committed."""
    for shard in ledger.state.shards:
        if shard.stage_key == stage_key and "scores" in shard.files:
            table = ledger.files.table(shard.files["scores"]).select(
                ["subject_id", "turn", "metric", "value", "detail"]
            )
            for row in table.to_pylist():
                if row["metric"] in TESTS or row["metric"] == CONTROL:
                    detail = msgspec.json.decode(row["detail"])
                    yield Judged(
                        row["subject_id"], row["turn"], row["metric"], row["value"] == 1, detail
                    )


def false_share(tested: Sequence[Judged]) -> float | None:
    """The share of the accepted sequential tests that is expected to be false; None where no
    control was played.
    """
    sequential = [found for found in tested if found.method == "sequential"]
    controls = [found.accepted for found in sequential if found.control]
    tests = [found.accepted for found in sequential if not found.control]
    return expected_false_share(sum(controls), len(controls), len(tests), sum(tests))


def status(test: Judged, share: float | None) -> str:
    """What a label made of a test is worth, under that share of false ones."""
    if not test.accepted:
        return "weak"
    return (
        "weak"
        if share is not None and share > MOST_FALSE and test.method == "sequential"
        else "confirmed"
    )


def labels(tested: Sequence[Judged]) -> list[Score]:
    """The labels that follow from all tests and controls of a stage: 1 confirmed, 0 weak."""
    share = false_share(tested)
    found = []
    for test in (test for test in tested if not test.control):
        worth = status(test, share)
        detail = {
            "status": worth,
            **{key: value for key, value in test.detail.items() if key != "label"},
            "fdr": share,
        }
        found.append(
            Score(
                test.subject_id,
                test.detail["label"],
                float(worth == "confirmed"),
                test.turn,
                detail,
            )
        )
    return found
