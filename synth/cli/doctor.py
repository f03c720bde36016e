"""`synth doctor`: what works on this machine or on a model's server, and how to get the rest."""

import os
import platform
from typing import TYPE_CHECKING, Any

import click

from synth.cli.options import command, own_name

if TYPE_CHECKING:
    from synth import Finding

COLOURS = {"works": "green", "no": "red", "unknown": "yellow"}


@command
def doctor(endpoint: str | None, **chosen: Any) -> None:
    """Say what works here, or on a server; exit 1 where something essential does not.

    \b
    Example:  synth doctor
              synth doctor --endpoint http://127.0.0.1:8000/v1
    """
    if endpoint is not None:
        works = _say_server(endpoint, **chosen)
    elif chosen["model"] is not None or chosen["api_key_env"] is not None:
        raise click.UsageError("--model and --api-key-env belong to --endpoint URL")
    else:
        works = _say_machine()
    if not works:
        raise SystemExit(1)


def _say_server(url: str, **chosen: Any) -> bool:
    from synth import probe_server

    def told(name: str, finding: "Finding") -> None:
        word = click.style(f"{finding.word:<8}", fg=COLOURS[finding.word])
        click.echo(f"{name:<13} {word} {finding.said}")

    found = probe_server(url, **chosen, told=told)
    if not found.flow_lines:
        click.echo("verdict       a flow cannot use this server: plain chat does not work")
        return False
    but = "" if "tools" in found.works else ", but not in a world with tools: mend that first"
    click.echo(f"verdict       a flow can use this server{but}:\n")
    for line in found.flow_lines:
        click.echo(line)
    return True


def _say_machine() -> bool:
    from synth import check_machine, installed_extras

    checks, extras = check_machine(), installed_extras()
    click.echo(
        f"machine    Python {platform.python_version()}, {platform.system()} "
        f"{platform.machine()}, {os.cpu_count()} cores"
    )
    for name, (problem, found) in checks.items():
        click.echo(f"{name:<10} {found if problem is None else f'BROKEN: {problem}'}")
    there, absent = ([name for name in extras if extras[name] is was] for was in (True, False))
    how = "(pip install -c constraints.txt -e '.[NAME]')"
    get = f"; not installed: {', '.join(absent)} {how}" if absent else ""
    click.echo(f"extras     {', '.join(there) or 'none'}{get}")
    keys = [name for name in ("OPENAI_API_KEY", "HF_TOKEN") if os.environ.get(name)]
    without = "none set: providers such as OpenAI need one, a server of your own does not"
    click.echo(f"keys       {', '.join(keys) or without}")
    broken = [name for name, (problem, _) in checks.items() if problem is not None]
    if broken:
        click.echo(f"verdict    mend {', '.join(broken)} first")
        return False
    click.echo(f"verdict    all commands work; try: {own_name()} run configs/quickstart.yaml")
    return True
