"""`synth publish`: a run's datasets on the Hub, with a card; private, and only looked at, unless
said otherwise.
"""

import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from synth.cli.environment_option import bindings_for, env_option
from synth.schemas.printable import printable


@click.command()
@click.argument("run", metavar="RUN")
@env_option
@click.option(
    "--repo",
    required=True,
    metavar="NAME",
    help="NAME or ACCOUNT/NAME of the dataset repository; it is created where it is not there.",
)
@click.option(
    "--license",
    "licence",
    metavar="L",
    help="The Hub's name of a licence (apache-2.0, cc-by-4.0, other, ...); you choose, synth never "
    "does.",
)
@click.option(
    "--license-name",
    "licence_name",
    metavar="NAME",
    help="With --license other: what it is called.",
)
@click.option(
    "--license-link",
    "licence_link",
    metavar="URL",
    help="With --license other: where its text stands.",
)
@click.option(
    "--kinds",
    metavar="K,...",
    help="Kinds or names of datasets, each a configuration.  [all that the flow exported]",
)
@click.option("--yes", is_flag=True, help="Send it. Without this nothing leaves the machine.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would be sent, and send nothing; what happens without --yes.",
)
@click.option(
    "--public",
    is_flag=True,
    help="Everybody may read it, once it is whole and was read back. Private without it.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with what was begun and interrupted, with the settings that it was begun with.",
)
@click.option(
    "--traces",
    type=click.IntRange(0, 500),
    default=20,
    show_default=True,
    help="Trajectories shown in the Hub's trace viewer.",
)
@click.option(
    "--card",
    "card_at",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the card to this file, to read it whole.",
)
@click.option(
    "--allow-benchmark",
    is_flag=True,
    help="Publish attempts at public benchmarks too; said in the card's first lines.",
)
@click.option(
    "--allow-held-out",
    is_flag=True,
    help="Publish attempts at held-out tasks too; said in the card's first lines.",
)
@click.option("--overwrite", is_flag=True, help="Replace a card that was edited on the Hub.")
@click.option(
    "--token-env",
    default="HF_TOKEN",
    show_default=True,
    metavar="NAME",
    help="Environment variable that holds a write token.",
)
def publish(
    run: str,
    environments: tuple[str, ...],
    repo: str,
    licence: str | None,
    licence_name: str | None,
    licence_link: str | None,
    kinds: str | None,
    yes: bool,
    dry_run: bool,
    resume: bool,
    token_env: str,
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
    from synth.cli.lost import say_lost
    from synth.hub.begun import noted
    from synth.hub.client import require_name
    from synth.hub.publishing import prepare, preview
    from synth.hub.released import Wanted
    from synth.hub.sending import hub_of, write_token
    from synth.ledger.ledger import Ledger
    from synth.schemas.errors import ConfigError

    require_name(repo)
    if dry_run and (yes or resume):
        raise ConfigError("--dry-run sends nothing, --yes and --resume do: give one of them")
    ledger = Ledger(run)
    say_lost(ledger)
    bindings_for(ledger, environments)
    token = write_token(token_env) if yes or resume else None
    hub, repo = hub_of(repo, token, _say) if token is not None else (None, repo)
    begun = noted(ledger, repo) if resume else None
    if begun is not None:
        wanted = begun.wanted
    else:
        named = _licence(licence, licence_name, licence_link)
        wanted = Wanted(
            repo,
            named,
            _kinds(kinds),
            licence_name=licence_name,
            licence_link=licence_link,
            **chosen,
        )
    with TemporaryDirectory(prefix="synth-publish-") as aside:
        prepared = prepare(ledger, wanted, Path(aside), token)
        if begun is not None and begun.digest != prepared.publication.digest:
            raise ConfigError(
                f"--resume: {run} has changed since the publication to {repo} was begun; leave "
                "--resume out to publish what is there now"
            )
        preview(prepared, wanted, lambda line: click.echo(printable(line)))
        if card_at is not None:
            _write_card(card_at, prepared.publication.card)
        if hub is None or token is None:
            click.echo(f"nothing was sent; to send it:  {_again(run, wanted, token_env)}")
            return
        _send(ledger, hub, wanted, prepared, token)


def _write_card(path: Path, card: Any) -> None:
    from synth.schemas.errors import ConfigError

    try:
        path.write_bytes(card.content)
    except OSError as error:
        raise ConfigError(f"--card {path}: cannot be written: {error.strerror}") from error


def _say(line: str) -> None:
    click.echo(printable(line), err=True)


def _send(ledger: Any, hub: Any, wanted: Any, prepared: Any, token: str) -> None:
    from synth.hub.sending import send

    pushed = send(ledger, hub, wanted, prepared, token, _say)
    what = f"{pushed.commits} commits" if pushed.commits != 1 else "1 commit"
    click.echo(
        "nothing to send: the Hub holds it already" if pushed.commits == 0 else f"sent in {what}"
    )
    click.echo(
        "read back   "
        f"{', '.join(f'{name} {rows:,} rows' for name, rows in prepared.publication.rows.items())}: "
        "as sent"
    )
    click.echo(
        f"{'PUBLIC' if wanted.public else 'private':<11} {hub.endpoint}/datasets/{wanted.repo} at "
        f"{pushed.revision}"
    )


def _licence(licence: str | None, name: str | None, link: str | None) -> str:
    """Asked for on a terminal, else refused: nobody may invent one."""
    from synth.hub.licences import require_licence
    from synth.schemas.errors import ConfigError

    if licence is None and sys.stdin.isatty():
        licence = click.prompt(
            "Licence of the dataset (the Hub's name for it: apache-2.0, cc-by-4.0, other, ...)",
            err=True,
        )
    if licence is None:
        raise ConfigError(
            "name a licence: --license apache-2.0, cc-by-4.0, other, ... (the Hub's name for it); "
            "none is chosen for you"
        )
    require_licence(licence, name, link)
    return licence


def _kinds(kinds: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(kind.strip() for kind in (kinds or "").split(",") if kind.strip()))


def _again(run: str, wanted: Any, token_env: str) -> str:
    words = ["synth", "publish", run, "--repo", wanted.repo, "--license", wanted.licence]
    words += (
        ["--license-name", wanted.licence_name, "--license-link", wanted.licence_link]
        if wanted.licence_name
        else []
    )
    words += ["--kinds", ",".join(wanted.kinds)] if wanted.kinds else []
    words += ["--public"] if wanted.public else []
    words += ["--traces", str(wanted.traces)] if wanted.traces != 20 else []
    words += ["--allow-benchmark"] if wanted.allow_benchmark else []
    words += ["--allow-held-out"] if wanted.allow_held_out else []
    words += ["--overwrite"] if wanted.overwrite else []
    words += ["--token-env", token_env] if token_env != "HF_TOKEN" else []
    return shlex.join([*words, "--yes"])
