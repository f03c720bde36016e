"""`--env NAME=FILE`: how the user has an environment started that data names; no command believes
the data.
"""

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
        help="Start the environment NAME as FILE of your own says: an `env` block, or a flow that "
        "has one. Repeatable.",
    )(command)


def bindings_for(ledger: "Ledger", written: Sequence[str]) -> "Bindings":
    """What the options say, then how a run was made that was made here. Raises `ConfigError`."""
    from synth.api import bound
    from synth.flows.environments import files_by_name

    return bound.bindings_for(ledger, files_by_name(written))
