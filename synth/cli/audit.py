"""`synth audit`: the same questions, asked of any world."""

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from synth.cli.environment_option import env_option
from synth.schemas.printable import ascii_json

F = TypeVar("F", bound=Callable[..., Any])
MOST_TASKS = 100_000
MOST = 1_000_000
AMOUNTS: Mapping[str, float] = {"--call-ms": 250, "--episode-mb": 64, "--limit-s": 120}
"""Options that take a positive number, at most `MOST`, with their defaults."""


def _amount(name: str, what: str) -> Callable[[F], F]:
    """One of `AMOUNTS` as an option."""

    def number(context: click.Context, parameter: click.Parameter, value: float) -> float:
        if math.isnan(value):  # it lies in every range
            raise click.BadParameter("nan is no number.")
        return value

    kind = click.FloatRange(0, MOST, min_open=True)
    return click.option(
        name, default=AMOUNTS[name], show_default=True, type=kind, callback=number, help=what
    )


@click.command()
@click.argument("env", metavar="ENV")
@click.option(
    "--tasks",
    default=20,
    show_default=True,
    type=click.IntRange(1, MOST_TASKS),
    help="How many tasks to ask about.",
)
@click.option(
    "--from",
    "run",
    metavar="RUN",
    help="Ask about tasks of this run, with their settings, in place of the world's own.",
)
@env_option
@click.option("--seed", default=7, show_default=True, help="Seed of the tasks and of every policy.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the world, e.g. --set turns=3.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="QUESTION",
    help="Ask only this question; may be given several times.",
)
@_amount("--call-ms", "Longest reset, step or check (p99).")
@_amount("--episode-mb", "Memory of a live episode where the spec states none (MiB).")
@_amount("--limit-s", "Longest time per part of a question.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option(
    "--html",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the report as one HTML page.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress; the report and errors only.")
def audit(
    env: str,
    tasks: int,
    run: str | None,
    environments: tuple[str, ...],
    seed: int,
    settings: tuple[str, ...],
    only: tuple[str, ...],
    call_ms: float,
    episode_mb: float,
    limit_s: float,
    as_json: bool,
    html: Path | None,
    quiet: bool,
) -> None:
    """Say whether a world is sound: ENV is a name from `synth envs`, or your own as
    package.module:attribute.

    Exit 0: nothing failed; 1: something did; 2: no such world or setting.

    \b
    Example:  synth audit storefront
              synth audit echo --set turns=3 --html audit.html
              synth audit mcp --from runs/files
              synth audit mcp --from runs/imported --env mcp=shop.yaml
    """
    from synth import audit as asked
    from synth.cli.audit_page import page
    from synth.cli.audit_table import say_report, word
    from synth.envs.audit.questions import QUESTIONS
    from synth.envs.audit.report import Answer, Limits
    from synth.flows.environments import files_by_name
    from synth.flows.yaml_file import read_settings
    from synth.schemas.errors import ConfigError

    known = [question.name for question in QUESTIONS]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ConfigError(f"--only {unknown[0]}: not a question; known: {', '.join(known)}")
    if html is not None and not html.parent.is_dir():
        raise ConfigError(f"--html {html}: there is no folder {html.parent}")
    if not -(2**63) <= seed < 2**63:
        raise ConfigError(f"--seed {seed}: a seed has at most 64 bits")

    def told(answer: Answer) -> str:
        return f"audit {env}: {answer.name:<13} {word(answer.passed):<10} {answer.seconds:.1f} s"

    amounts = {"--call-ms": call_ms, "--episode-mb": episode_mb, "--limit-s": limit_s}
    report = asked(
        env,
        tasks=tasks,
        seed=seed,
        settings=read_settings(settings),
        only=only,
        ledger=run,
        environments=files_by_name(environments),
        limits=Limits(call_ms=call_ms, episode_bytes=int(episode_mb * 2**20), part_s=limit_s),
        quiet=quiet,
        told=told,
    )
    if html is not None:
        try:
            html.write_text(
                page(
                    report, _command(env, tasks, run, environments, seed, settings, only, amounts)
                ),
                encoding="utf-8",
            )
        except OSError as error:
            raise ConfigError(f"--html {html}: cannot be written: {error.strerror}") from error
    if as_json:
        click.echo(ascii_json(json.dumps(report.as_json(), indent=2)))
    else:
        say_report(report, html)
    if report.failed:
        raise SystemExit(1)


def _command(
    env: str,
    tasks: int,
    run: str | None,
    environments: Sequence[str],
    seed: int,
    settings: Sequence[str],
    only: Sequence[str],
    amounts: Mapping[str, float],
) -> str:
    """The command that gives the same report."""
    words = ["synth", "audit", env, "--tasks", str(tasks), "--seed", str(seed)]
    words += ["--from", run] if run is not None else []
    words += [word for environment in environments for word in ("--env", environment)]
    words += [word for setting in settings for word in ("--set", setting)]
    words += [word for question in only for word in ("--only", question)]
    words += [
        word
        for name, value in amounts.items()
        if value != AMOUNTS[name]
        for word in (name, repr(value).removesuffix(".0"))
    ]
    return shlex.join(words)
