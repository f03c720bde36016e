"""A run's datasets on the Hub: looked at first, sent only when that is said."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict, Unpack

from synth.api.opened import Ledger, stored
from synth.flows.environments import Files, bindings_for
from synth.hub.publishing import PreparedUpload, prepare, preview
from synth.hub.released import PublishRequest, require_licence, require_name
from synth.hub.sending import TOKEN, hub_of, noted, send, write_token
from synth.schemas import ConfigError


class PublishSettings(TypedDict, total=False):
    """What else is said of a publication; see `synth publish --help`."""

    public: bool
    traces: int
    allow_benchmark: bool
    allow_held_out: bool
    overwrite: bool
    licence_name: str | None
    licence_link: str | None


@dataclass(frozen=True)
class PublicationReport:
    """What went out, or would: rows by dataset, files with their bytes, the card, and what was left
    out.

    `revision` is the commit at which it stands, and was read back; None where nothing was sent.
    `commits` is how many it took, none where the Hub held it already.
    """

    repo: str
    rows: Mapping[str, int]
    files: Mapping[str, int]
    card: str
    left_out: tuple[str, ...]
    public: bool = False
    revision: str | None = None
    commits: int = 0
    url: str = ""


Shown = Callable[[PublicationReport, Sequence[str]], None]
"""Told what is about to go out, and the same in lines for a person."""


def publish(
    run: Ledger | Path | str,
    repo: str,
    *,
    licence: str | None = None,
    yes: bool = False,
    resume: bool = False,
    kinds: Sequence[str] = (),
    environments: Files = (),
    token_env: str = TOKEN,
    say: Callable[[str], None] = lambda line: None,
    shown: Shown = lambda report, lines: None,
    **settings: Unpack[PublishSettings],
) -> PublicationReport:
    """Shows what would go out; with `yes` sends it, private unless `public`, and reads it back.

    Without `yes` nobody is contacted. `resume` goes on with what was begun and interrupted, as it
    was begun. `licence` is the Hub's name of one; `kinds` are datasets, all
    without it. The
    token is read from the environment variable `token_env`. `environments` are looked at, none is
    started. Raises `ConfigError` for what must not
    go out unasked, and
    `SynthError` where it could not be sent: the same call goes on.
    """
    require_name(repo)
    ledger = stored(run)
    bindings_for(ledger, environments)
    token = write_token(token_env) if yes or resume else None
    hub, repo = hub_of(repo, token, say) if token is not None else (None, repo)
    begun = noted(ledger, repo) if resume else None
    wanted = begun.wanted if begun is not None else _wanted(repo, licence, kinds, settings)
    with TemporaryDirectory(prefix="synth-publish-") as aside:
        prepared = prepare(ledger, wanted, Path(aside), token)
        if begun is not None and begun.digest != prepared.publication.digest:
            raise ConfigError(
                f"--resume: {ledger.storage.url} has changed since the publication to {repo} was "
                "begun; leave --resume out to publish what is there now"
            )
        report, lines = _report(wanted, prepared), list[str]()
        preview(prepared, wanted, lines.append)
        shown(report, lines)
        if hub is None or token is None:
            return report
        pushed = send(ledger, hub, wanted, prepared, token)
        url = f"{hub.endpoint}/datasets/{wanted.repo}"
        return replace(report, revision=pushed.revision, commits=pushed.commits, url=url)


def _wanted(
    repo: str, licence: str | None, kinds: Sequence[str], settings: PublishSettings
) -> PublishRequest:
    if licence is None:
        raise ConfigError(
            "name a licence: --license apache-2.0, cc-by-4.0, other, ... (the Hub's name for it); "
            "none is chosen for you"
        )
    require_licence(licence, settings.get("licence_name"), settings.get("licence_link"))
    return PublishRequest(repo, licence, tuple(dict.fromkeys(kinds)), **settings)


def _report(wanted: PublishRequest, prepared: PreparedUpload) -> PublicationReport:
    publication = prepared.publication
    return PublicationReport(
        repo=wanted.repo,
        rows=dict(publication.rows),
        files={file.path: file.size for file in (*publication.data, publication.card)},
        card=publication.card.text,
        left_out=prepared.left_out,
        public=wanted.public,
    )
