"""What commands share: their options, and how they open a run and print."""

import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from synth.schemas.errors import ConfigError
from synth.schemas.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

    from synth import Ledger

F = TypeVar("F", bound=Callable[..., Any])

run_argument = click.argument("run", metavar="RUN")
flow_argument = click.argument("flow", metavar="FLOW.yaml")
env_option = click.option(
    "--env",
    "environments",
    multiple=True,
    metavar="NAME=FILE",
    help="Start the environment NAME as FILE of your own says: an `env` block, or a flow that "
    "has one. Repeatable.",
)
set_option = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="A.B=VALUE",
    help="Override a setting, e.g. --set env.tasks=5 or --set stages.rollout.trials=2.",
)
quiet_option = click.option(
    "--quiet", "-q", is_flag=True, help="No progress; the result and errors only."
)
json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")


def flags(meanings: Mapping[str, str]) -> Callable[[F], F]:
    """Options that are given or not, with what each means."""

    def decorated(command: F) -> F:
        for name, meaning in reversed([*meanings.items()]):
            command = click.option(name, is_flag=True, help=meaning)(command)
        return command

    return decorated


def tell(line: str, *, err: bool = False) -> None:
    """One line, whoever wrote it; to stderr where it is no result."""
    click.echo(printable(line), err=err)


def warn(line: str) -> None:
    """One line on stderr."""
    tell(line, err=True)


def console() -> "Console":
    """For tables and long lines; 160 columns where nobody looks."""
    from rich.console import Console

    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=160)


def open_run(run: str) -> "Ledger":
    """Opens a run for reading, and says what it has lost on stderr."""
    from synth import open_ledger

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said below, as commands say it
        ledger = open_ledger(run)
    for line in ledger.lost:
        warn(line)
    return ledger


def write_file(option: str, path: Path, content: bytes) -> None:
    """Raises `ConfigError` where the file that an option names cannot be written."""
    try:
        path.write_bytes(content)
    except OSError as error:
        raise ConfigError(
            f"{option} {path}: cannot be written: {error.strerror or error}"
        ) from error


def own_name() -> str:
    """`synth` where that is this program, else a command that is: .venv/bin/synth, or python -m
    synth.cli.main.
    """
    ours = Path(sys.executable).with_name("synth")
    found = shutil.which("synth")
    if found is not None and os.path.realpath(found) == os.path.realpath(ours):
        return "synth"
    if os.access(ours, os.X_OK):
        return shlex.quote(from_here(ours))
    return f"{shlex.quote(sys.executable)} -m synth.cli.main"


def from_here(path: Path) -> str:
    """A path as short as the current directory lets it be; never one that reads as an option."""
    try:
        short = str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
    return short if not short.startswith("-") else f"./{short}"
