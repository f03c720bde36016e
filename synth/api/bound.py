"""The environments of a run, as its user has them started."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from synth.flows.bindings import Bindings
from synth.flows.environments import bindings_of, said_by_files
from synth.flows.run_record import said_of_run
from synth.ledger import StoredLedger

Files = Mapping[str, Path | str] | Sequence[str]
"""A file of the user's own by name of an environment, or `NAME=FILE` as on the command line."""


def bindings_for(ledger: StoredLedger, environments: Files) -> Bindings:
    """What the user's files say, then how a run was made that was made here; nothing that lies in
    the run.

    Raises `ConfigError` for a file that says nothing of an environment.
    """
    said = {**said_of_run(ledger), **said_by_files(environments)}
    return bindings_of(said, named_in=ledger.storage.url)
