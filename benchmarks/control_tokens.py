"""Control tokens in real trajectories by family and place: what dropping them costs, and how fast
they are looked for.

Run: `python -m benchmarks.control_tokens`
"""

import sys
from collections import Counter
from collections.abc import Sequence
from time import process_time

from benchmarks.figures import Figure, Report, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.real_trajectories import folders, real
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Trajectory
from synth.text.control_tokens import Hit, control_tokens, families, family, found
from synth.text.transcript.message_texts import TOOLS, Change, with_messages


def hits_of(trajectory: Trajectory) -> list[Hit]:
    """The tokens of a trajectory's messages and tool schemas."""

    def visit(change: Change) -> None:
        with_messages(to_messages(trajectory), change)
        change(TOOLS, trajectory.tools)

    return found(visit, control_tokens())


def measure(trajectories: Sequence[Trajectory]) -> Report:
    """One pass over all of them."""
    started = process_time()
    hits = [set(hits_of(trajectory)) for trajectory in trajectories]
    seconds = process_time() - started
    counts = Counter(
        (family(token), token, place) for found_here in hits for token, place in found_here
    )
    known = sum(len(tokens) for tokens in families().values())
    figures = [
        Figure(
            f"trajectories with one of {known} tokens of {len(families())} families, or with what "
            "looks like one",
            sum(map(bool, hits)),
        ),
        Figure(
            "share that an export leaves out unasked",
            100 * sum(map(bool, hits)) / len(trajectories),
            "%",
        ),
        *(
            Figure(f"{name}: {token} in {place}", count)
            for (name, token, place), count in counts.most_common()
        ),
        Figure("looked through", len(trajectories) / seconds, "trajectories/s"),
    ]
    return Report(
        "Control tokens in real trajectories",
        figures,
        f"{len(trajectories):,} real trajectories, once, in CPU seconds.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(
        shown(measure([trajectory for name in folders() for trajectory in real([name])]), others)
    )
