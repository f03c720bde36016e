"""`synth publish`: a run's datasets on the Hub, with a card; private, and only looked at, unless
said otherwise.
"""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from synth.cli.options import command, open_run, tell, warn, write_file
from synth.schemas import ConfigError

if TYPE_CHECKING:
    from synth import PublicationReport


@command
def publish(
    run: str,
    environments: tuple[str, ...],
    repo: str,
    licence: str | None,
    kinds: str | None,
    yes: bool,
    dry_run: bool,
    resume: bool,
    card_at: Path | None,
    **chosen: Any,
) -> None:
    """Push the datasets that a run's flow exported, with a card written from its ledger.

    Without --yes it shows what would be sent, and contacts nobody; with it, it sends it, private.
    Nothing is executed: --env is taken so
    that one set of options fits all commands, and only looked at.

    \b
    Example:  synth publish runs/quickstart --repo me/quickstart --license apache-2.0
              synth publish runs/quickstart --repo me/quickstart --license apache-2.0 --yes
              synth publish runs/imported --repo me/mine --license apache-2.0 --env mcp=shop.yaml
    """
    from synth import publish as published

    if dry_run and (yes or resume):
        raise ConfigError("--dry-run sends nothing, --yes and --resume do: give one of them")
    ledger = open_run(run)
    if licence is None and not resume and sys.stdin.isatty():
        licence = click.prompt(
            "Licence of the dataset (the Hub's name for it: apache-2.0, cc-by-4.0, other, ...)",
            err=True,
        )
    names = [name for kind in (kinds or "").split(",") if (name := kind.strip())]

    def shown(report: "PublicationReport", preview: Sequence[str]) -> None:
        for line in preview:
            tell(line)
        if card_at is not None:
            write_file("--card", card_at, report.card.encode())

    report = published(
        ledger,
        repo,
        licence=licence,
        kinds=names,
        yes=yes,
        resume=resume,
        environments=environments,
        say=warn,
        shown=shown,
        **chosen,
    )
    if report.revision is None:
        again = _again(run, repo, {"license": licence, "kinds": ",".join(names), **chosen})
        tell(f"nothing was sent; to send it:  {again}")
        return
    what = f"{report.commits} commits" if report.commits != 1 else "1 commit"
    held = "nothing to send: the Hub holds it already"
    tell(f"sent in {what}" if report.commits else held)
    rows = ", ".join(f"{name} {count:,} rows" for name, count in report.rows.items())
    tell(f"read back   {rows}: as sent")
    tell(f"{'PUBLIC' if report.public else 'private':<11} {report.url} at {report.revision}")


def _again(run: str, repo: str, chosen: Mapping[str, Any]) -> str:
    """The command that sends what was shown; options that were left out are left out."""
    known = {"traces": 20, "token_env": "HF_TOKEN"}
    words = ["synth", "publish", run, "--repo", repo]
    for name, value in chosen.items():
        if value and value != known.get(name):
            option = "--" + name.replace("licence", "license").replace("_", "-")
            words += [option] if value is True else [option, str(value)]
    return shlex.join([*words, "--yes"])
