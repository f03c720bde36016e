"""`synth`: finds the command, and turns what goes wrong into one line and an exit code (0 done, 1
failed, 2 the user must mend it).
"""

import atexit
import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from types import FrameType, TracebackType
from typing import NoReturn

import click

from synth.cli import streams
from synth.cli.options import OPTIONS
from synth.schemas import ConfigError, SynthError, printable

COMMANDS: Mapping[str, tuple[str, str]] = OPTIONS["commands"]
"""By name: where it is, and what it does."""
INTERRUPTED = (
    "interrupted; what was committed and every reply that came in are kept: the same command "
    "goes on where this one stopped"
)
NO_MEMORY = (
    "out of memory: give this process more (the container's limit, ulimit -v or -d), or let it "
    "hold less at once (a stage's `live` and `shard`); what was committed is kept: the same "
    "command goes on where this one stopped"
)


class Commands(click.Group):
    """Imports a command's module only when that command is called: `synth --help` answers at
    once.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of a user's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported; on the help page only its name and line."""
        if cmd_name not in COMMANDS:
            return None
        target, line = COMMANDS[cmd_name]
        if ctx.obj == "help":
            return click.Command(cmd_name, short_help=line, help=line)
        module, _, attribute = target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.command(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120}
)
@click.version_option(package_name="synth-trajectories", prog_name="synth")
def cli() -> None:
    """Synthesizes agent trajectories and curates them into training data.

    \b
    Example:  synth run configs/quickstart.yaml
              synth import results.json --into runs/mine
              synth export runs/mine --kind sft --out data/sft
    """


def main() -> None:
    """The entry point."""
    ended = [1]  # what nobody foresaw
    atexit.register(_end, ended)  # registered first, so it runs last
    try:
        _command()
    except SystemExit as leaving:
        ended[0] = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        raise


def _command() -> NoReturn:
    streams.mend()
    sys.excepthook = _last_net
    terminated: list[int] = []
    signal.signal(signal.SIGTERM, partial(_as_interrupt, terminated))
    try:
        code = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(2)
    except click.UsageError as error:
        hint = f" (see: {error.ctx.command_path} --help)" if error.ctx is not None else ""
        _leave(error.format_message() + hint, 2)
    except click.ClickException as error:
        _leave(error.format_message(), 2)
    except ConfigError as error:
        _leave(str(error), 2)
    except SynthError as error:
        _leave(str(error), 1)
    except (click.Abort, KeyboardInterrupt):
        _leave(INTERRUPTED, 128 + (signal.SIGTERM if terminated else signal.SIGINT))
    except OSError as error:
        _leave_for(error)
    sys.exit(code if isinstance(code, int) else 0)


def _out_of_memory(error: BaseException) -> bool:
    """Python's word for it, or DuckDB's, which is not imported for this."""
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException"


def _as_interrupt(terminated: list[int], number: int, frame: FrameType | None) -> None:
    """SIGTERM ends a command as Ctrl-C does, also where SIGINT is ignored, as in jobs that a script
    puts into the background.
    """
    terminated.append(number)
    if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
        raise KeyboardInterrupt
    signal.raise_signal(signal.SIGINT)


def _leave_for(error: OSError) -> NoReturn:
    """What the system refused, in one line; nothing where the reader of stdout has gone."""
    if _debugging():
        traceback.print_exception(error)
    problem = streams.stdout_problem()
    if isinstance(problem, BrokenPipeError):
        sys.exit(1)
    if problem is not None:
        _leave(f"stdout: cannot be written: {problem.strerror}; what was committed is not lost", 1)
    where = f"{error.filename}: " if error.filename else ""
    _leave(f"{where}{error.strerror or error or type(error).__name__}", 1)


def _last_net(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What nobody foresaw is a fault of ours: one line, and the traceback only for those who
    ask.
    """
    if _debugging():
        sys.__excepthook__(kind, error, trace)
        return
    if _out_of_memory(error):
        print(f"synth: {NO_MEMORY}", file=sys.stderr)
        return
    what = printable(" ".join(f"{kind.__name__}: {error}".split()))[:500].rstrip(":")
    print(f"synth: internal error: {what} (set SYNTH_DEBUG=1 for the traceback)", file=sys.stderr)


def _debugging() -> bool:
    return os.environ.get("SYNTH_DEBUG", "") not in ("", "0")


def _end(code: Sequence[int]) -> None:
    """Everything of ours has been said and done; libraries are not taken down with the interpreter.

    DuckDB's binding prints notes about leaks then, and a few processes were seen to end by SIGABRT
    after their work was done.
    """
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code[0])


def _leave(line: str, code: int) -> NoReturn:
    from synth.keys.looks import without_keys

    print("synth: " + printable(without_keys(" ".join(line.split()))), file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
