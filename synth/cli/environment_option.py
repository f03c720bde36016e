"""`--env NAME=FILE`: how the user has an environment started that data names; no command believes the data."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from synth.flows.bindings import Bindings
    from synth.ledger.ledger import Ledger

F = TypeVar("F", bound=Callable[..., Any])


def env_option(command: F) -> F:
    """The option, repeatable; its values reach the command as `environments`."""
    return click.option(
        "--env",
        "environments",
        multiple=True,
        metavar="NAME=FILE",
        help="Start the environment NAME as FILE of your own says: an `env` block, or a flow that has one. Repeatable.",
    )(command)


def bindings_for(ledger: "Ledger", written: Sequence[str]) -> "Bindings":
    """What the options say, then how a run was made that was made here; nothing that lies in the run. Raises `ConfigError`."""
    from synth.flows.environments import bindings_of, said_by_options
    from synth.flows.run_record import said_of_run

    said = said_by_options(written)
    return bindings_of(said, named_in=ledger.storage.url, further=[lambda: said_of_run(ledger)])
