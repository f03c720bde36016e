"""`synth audit`: the same questions, asked of any world; `synth envs`: the worlds."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli.options import OPTIONS, command, console, tell, tell_json, write_file
from synth.schemas import ConfigError, printable

if TYPE_CHECKING:
    from synth import AuditAnswer, AuditReport

WORDS = {True: "passed", False: "FAILED", None: "not asked"}
_STYLES = {"passed": "green", "FAILED": "bold red", "not asked": "dim"}
_OPTIONS = {"ledger": "--from", "environments": "--env", "settings": "--set"}
LONGEST_RESULT = 400


@command
def audit(env: str, as_json: bool, html: Path | None, **chosen: Any) -> None:
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
    from synth import audit_page

    if html is not None and not html.parent.is_dir():
        raise ConfigError(f"--html {html}: there is no folder {html.parent}")

    def told(answer: "AuditAnswer") -> str:
        word = WORDS[answer.passed]
        return f"audit {env}: {answer.name:<13} {word:<10} {answer.seconds:.1f} s"

    report = asked(env, **chosen, told=told)
    if html is not None:
        write_file("--html", html, audit_page(report, _again(env, chosen)).encode())
    if as_json:
        tell_json(report.as_json())
    else:
        say_report(report, html)
    if report.failed:
        raise SystemExit(1)


def _again(env: str, chosen: Mapping[str, Any]) -> str:
    """The command that asks the same: limits only where they are not the usual ones."""
    words = ["synth", "audit", env]
    for name in ("tasks", "seed", "ledger", "environments", "settings", "only"):
        given = chosen[name]
        for one in given if isinstance(given, tuple) else () if given is None else (given,):
            words += [_OPTIONS.get(name, f"--{name}"), str(one)]

    for one in OPTIONS["audit"]:
        if "number" in one:
            (name,) = one["names"]
            value = chosen[name[2:].replace("-", "_")]
            words += [name, repr(value).removesuffix(".0")] if value != one["default"] else []

    return shlex.join(words)


def say_report(report: "AuditReport", html: Path | None) -> None:
    """The questions with their results, what failed in full, and the verdict last."""
    from synth import Table

    out = console()
    heading = f"{report.world} {report.version}, {report.tasks} tasks from seed {report.seed}"
    rows = [(answer.name, WORDS[answer.passed], _short(answer.result)) for answer in report.answers]
    if out.is_terminal:
        table = Table(f"Audit of {heading}", ("question", "answer", "result"), rows)
        out.print(table.grid(_STYLES))
    else:
        tell(f"audit of {heading}")
        for name, word, result in rows:
            tell(f"{name:<13} {word:<10} {result}")
    for answer in report.answers:
        for finding in answer.findings:
            # else the question's own line has said it
            if finding.passed is None and answer.passed is not None:
                tell(f"{answer.name}.{finding.name} not asked: {_short(finding.detail)}")
    verdict = "bold red" if report.failed else "green"
    out.print(printable(report.verdict), markup=False, soft_wrap=True, style=verdict)
    if html is not None:
        tell(f"page     {html}")


def _short(text: str) -> str:
    """A result on one line, cut where it is long."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= LONGEST_RESULT else f"{text[:LONGEST_RESULT]} …"


@click.command()
def envs() -> None:
    """List the worlds, with what each can do.

    \b
    Example:  synth envs
    """
    from synth import list_environments

    for name, spec in list_environments().items():
        if isinstance(spec, ConfigError):
            tell(f"{name:<12} not available: {spec}")
            continue
        profiles = f"; profiles: {', '.join(spec.profiles)}" if spec.profiles else ""
        tell(f"{name:<12} {spec.version:<8} {', '.join(sorted(spec.capabilities))}{profiles}")
    tell("your own: name it in a flow as package.module:attribute (a synth.World)")
