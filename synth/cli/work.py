"""`synth work`: one worker of a run."""

from typing import Any

import click

from synth.cli.options import command, tell


@command
def work(run: str, **chosen: Any) -> None:
    """Work on a run: claim units that nobody has in hand, play and commit them, until nothing is
    left.

    Any number of workers share a run, on any machines that reach RUN. One that is killed loses only
    what it had in hand.

    \b
    Example:  synth work runs/quickstart
              synth work s3://bucket/run --flow shop.yaml --max-units 200
    """
    from synth import work as worked

    if chosen["set"] and chosen["flow"] is None:
        raise click.UsageError("--set is of --flow: the run's own flow holds its settings")
    tell(f"{run}: {worked(run, **chosen)}")
