"""What a run has lost, said by every command that reads it."""

import click

from synth.ledger.ledger import Ledger
from synth.schemas.printable import printable


def say_lost(ledger: Ledger) -> None:
    """A line on stderr per lost shard: its file, what it held, what to do."""
    for line in ledger.state.lost:
        click.echo(printable(line), err=True)
