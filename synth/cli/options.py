"""What commands share: their options, and how they open a run and print."""

import json
import math
import os
import shlex
import shutil
import sys
import tomllib
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.schemas import ConfigError, ascii_json, printable

if TYPE_CHECKING:
    from rich.console import Console

    from synth import Ledger

OPTIONS: Mapping[str, Any] = tomllib.loads(
    (files("synth.cli") / "options.toml").read_text(encoding="utf-8")
)
"""By command, as `options.toml` lists them."""


def command(function: Callable[..., Any]) -> click.Command:
    """Makes a function the command whose options stand under its name in `options.toml`."""
    for one in reversed(OPTIONS[function.__name__]):
        function = _with(function, **OPTIONS["shared"][one["use"]] if "use" in one else one)
    return click.command()(function)


def _with(
    function: Callable[..., Any],
    *,
    names: Sequence[str],
    argument: bool = False,
    choice: Sequence[str] = (),
    path: Mapping[str, Any] | None = None,
    whole: Mapping[str, Any] | None = None,
    number: Mapping[str, Any] | None = None,
    **known: Any,
) -> Callable[..., Any]:
    """An argument or option more: one of some words, a path, or a number in a range."""
    if choice:
        known["type"] = click.Choice(choice)
    elif path is not None:
        known["type"] = click.Path(path_type=Path, **path)
    elif whole is not None:
        known["type"] = click.IntRange(**whole) if whole else int
    elif number is not None:
        known |= (
            {"type": click.FloatRange(**number), "callback": _number} if number else {"type": float}
        )
    return (click.argument if argument else click.option)(*names, **known)(function)


def _number(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    if value is not None and math.isnan(value):  # it lies in every range
        raise click.BadParameter("nan is no number.")
    return value


def tell(line: str, *, err: bool = False) -> None:
    """One line, whoever wrote it; to stderr where it is no result."""
    click.echo(printable(line), err=err)


def tell_json(content: Any) -> None:
    """What programs read, on stdout."""
    click.echo(ascii_json(json.dumps(content, indent=2)))


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
