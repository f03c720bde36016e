"""`synth audit`: the same questions, asked of any world."""

import asyncio
import json
import shlex
from pathlib import Path

import click


@click.command()
@click.argument("env", metavar="ENV")
@click.option("--tasks", default=20, show_default=True, type=click.IntRange(min=1), help="How many tasks to ask about.")
@click.option("--seed", default=7, show_default=True, help="Seed of the tasks and of every policy.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the world, e.g. --set turns=3.")
@click.option("--only", multiple=True, metavar="QUESTION", help="Ask only this question; may be given several times.")
@click.option("--call-ms", default=250.0, show_default=True, type=click.FloatRange(min=0), help="Longest reset, step or check (p99).")
@click.option("--episode-mb", default=64.0, show_default=True, help="Memory of a live episode where the spec states none (MiB).")
@click.option("--limit-s", default=120.0, show_default=True, type=click.FloatRange(min=1), help="Longest time per part of a question.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Also write the report as one HTML page.")
@click.option("--quiet", "-q", is_flag=True, help="No progress; the report and errors only.")
def audit(
    env: str,
    tasks: int,
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
    """Say whether a world is sound: ENV is a name from `synth envs`, or your own as package.module:attribute.

    Exit 0: nothing failed; 1: something did; 2: no such world or setting.

    \b
    Example:  synth audit storefront
              synth audit echo --set turns=3 --html audit.html
    """
    from envs.audit.audit import audit as ask
    from envs.audit.questions import QUESTIONS
    from envs.audit.report import Answer, Limits
    from flows.parts import world, world_settings
    from schemas.errors import ConfigError
    from synth.cli.audit_page import page
    from synth.cli.audit_table import say_report, word
    from synth.run.progress import progress_for

    known = [question.name for question in QUESTIONS]
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ConfigError(f"--only {unknown[0]}: not a question; known: {', '.join(known)}")
    chosen = [question for question in QUESTIONS if not only or question.name in only]
    found = world(env)
    config = world_settings(env, settings)
    if html is not None and not html.parent.is_dir():
        raise ConfigError(f"--html {html}: there is no folder {html.parent}")
    progress = progress_for(quiet=quiet)
    progress.start(f"audit {env}", len(chosen), "questions")

    def say(answer: Answer) -> None:
        progress.say(f"audit {env}: {answer.name:<13} {word(answer.passed):<10} {answer.seconds:.1f} s")
        progress.step(1)

    limits = Limits(call_ms=call_ms, episode_bytes=int(episode_mb * 2**20), part_s=limit_s)
    try:
        report = asyncio.run(ask(found, config, seed=seed, tasks=tasks, limits=limits, questions=chosen, say=say))
    finally:
        progress.stop()
    if html is not None:
        try:
            html.write_text(page(report, _command(env, tasks, seed, settings)), encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"--html {html}: cannot be written: {error.strerror}") from error
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        say_report(report, html)
    if report.failed:
        raise SystemExit(1)


def _command(env: str, tasks: int, seed: int, settings: tuple[str, ...]) -> str:
    """The command that gives the same report."""
    words = ["synth", "audit", env, "--tasks", str(tasks), "--seed", str(seed)]
    return shlex.join(words + [word for setting in settings for word in ("--set", setting)])
