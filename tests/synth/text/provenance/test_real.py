"""Real trajectories: every one can be read; what was found is printed, not asserted."""

from collections import Counter
from pathlib import Path

import pytest

from synth.importers.records import Imported
from synth.text.provenance import provenance
from tests.synth.importers.imports import imported

DATA = Path(__file__).parents[5] / "shared" / "data"
needs_real_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="real trajectories absent: ../shared/data"
)


@needs_real_data
@pytest.mark.parametrize("folder", ["tau1", "tau1_retail", "agentrx_tau"])
@pytest.mark.slow
def test_share_of_unjustified_arguments_in_real_trajectories(folder: str) -> None:
    counts: Counter[str] = Counter()
    verdicts: Counter[bool | None] = Counter()
    for entry in imported([DATA / folder]):
        if isinstance(entry, Imported):
            report = provenance(entry.trajectory)
            counts.update(report.counts)
            verdicts[report.justified] += 1
    judged = sum(counts[status] for status in ("observed", "computed", "schema", "unjustified"))
    share = (
        f"{counts['unjustified']} of {judged} arguments unjustified, in {verdicts[False]} of "
        f"{verdicts.total()} trajectories"
    )
    print(f"{folder}: {share}; {dict(counts)}")
    assert judged > 0
