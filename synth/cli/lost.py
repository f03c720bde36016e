"""What a run has lost, said by every command that reads it."""

import warnings
from typing import TYPE_CHECKING

import click

from synth.schemas.printable import printable

if TYPE_CHECKING:
    from synth import Ledger as OpenedLedger
    from synth.ledger.ledger import Ledger


def open_run(run: str) -> "OpenedLedger":
    """Opens a run for reading, and says what it has lost."""
    from synth import open_ledger

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said below, as commands say it
        ledger = open_ledger(run)
    _say(ledger.lost)
    return ledger


def say_lost(ledger: "Ledger") -> None:
    """A line on stderr per lost shard: its file, what it held, what to do."""
    _say(tuple(ledger.state.lost))


def _say(lost: tuple[str, ...]) -> None:
    for line in lost:
        click.echo(printable(line), err=True)
