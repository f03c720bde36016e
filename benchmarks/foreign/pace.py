"""What each filter takes of `curate`: CPU seconds on all real trajectories in one run."""

from collections.abc import Iterator
from time import process_time
from typing import Any

from benchmarks.foreign.families import families, imported
from synth.api.curation import curate
from synth.ledger.ledger import StoredLedger
from synth.schemas.flow import Flow

FILTERS = (
    *("solved", "leaks", "secrets", "control_tokens", "provenance", "signals", "efficiency"),
    *("waste", "duplicates", "contamination", "pdi"),
)


def lines() -> Iterator[str]:
    """A table in Markdown. A filter is timed by itself, less a flow of `solved` alone, which reads
    the trajectories too; shares are of the sum.
    """
    with imported(families()) as url:
        count = len(StoredLedger(url).state.current_valid())
        # what is imported and compiled at first belongs to no filter
        _seconds(url, {"waste": {"max_share": 0.9}}, 0)
        plain = _seconds(url, "solved", 1)
        taken = {name: max(0.0, _seconds(url, name, 2) - plain) for name in FILTERS[1:]}
    whole = plain + sum(taken.values())
    yield f"{count:,} trajectories; reading them and `solved`: {plain:.1f} s of CPU."
    yield ""
    yield "| filter | CPU, s | share |"
    yield "|---|---:|---:|"
    for name, seconds in sorted(taken.items(), key=lambda one: -one[1]):
        yield f"| `{name}` | {seconds:.1f} | {seconds / whole:.0%} |"


def _seconds(url: str, name: Any, number: int) -> float:
    """Of a flow with this filter alone, which has not decided here before."""
    flow = Flow.model_validate(
        {"name": f"pace-{number}", "seed": number, "stages": [{"filter": [name]}]}
    )
    before = process_time()
    curate(url, flow, quiet=True)
    return process_time() - before
