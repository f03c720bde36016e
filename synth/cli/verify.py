"""`synth verify`: every byte of a run, or of a dataset's folder, compared with what was
committed.
"""

from synth.cli.options import command, tell


@command
def verify(run: str, expect: str | None) -> None:
    """Read all of a run and name each file that is damaged, missing or not its own, with what to
    do; nothing is written.

    Its tables, datasets, report, cost, flow and manifest are compared. RUN may be the folder of a
    dataset, wherever it was copied to:
    then all of it is compared with its SHA256SUMS. A run whose last lines were cut off looks like
    an earlier state of itself: note the
    `head` that is printed, and give it as --expect.

    \b
    Example:  synth verify runs/quickstart
              synth verify runs/quickstart --expect 5f0c3cd6f1b6a6f1b1c4a8c7e5a1d2b3
              synth verify runs/quickstart/datasets/sft
    """
    from synth import verify as verified

    report = verified(run, expect=expect, told=tell)
    for line in (report.read, *report.lines):
        tell(line)
