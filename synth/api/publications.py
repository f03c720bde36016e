"""A run's datasets on the Hub: looked at first, sent only when that is said."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from synth.api.opened import stored
from synth.hub.client import require_name
from synth.hub.licences import require_licence
from synth.hub.publishing import Prepared, prepare
from synth.hub.released import Wanted
from synth.hub.sending import TOKEN, hub_of, send, write_token


@dataclass(frozen=True)
class PublicationReport:
    """What went out, or would: rows by dataset, files with their bytes, the card, and what was left
    out.

    `revision` is the commit at which it stands, and was read back; None where nothing was sent.
    """

    repo: str
    rows: Mapping[str, int]
    files: Mapping[str, int]
    card: str
    left_out: tuple[str, ...]
    revision: str | None = None


def publish(
    run_dir: Path | str,
    repo: str,
    *,
    licence: str,
    yes: bool = False,
    kinds: Sequence[str] = (),
    public: bool = False,
    traces: int = 20,
    allow_benchmark: bool = False,
    allow_held_out: bool = False,
    overwrite: bool = False,
    licence_name: str | None = None,
    licence_link: str | None = None,
    token_env: str = TOKEN,
    say: Callable[[str], None] = lambda line: None,
) -> PublicationReport:
    """Shows what would go out; with `yes` sends it, private unless `public`, and reads it back.

    Without `yes` nobody is contacted. `licence` is the Hub's name of one; `kinds` are datasets, all
    without it. The
    token is read from the environment variable `token_env`. Raises `ConfigError` for what must not
    go out unasked, and
    `SynthError` where it could not be sent: the same call goes on.
    """
    require_name(repo)
    require_licence(licence, licence_name, licence_link)
    ledger = stored(run_dir)
    token = write_token(token_env) if yes else None
    hub, repo = hub_of(repo, token, say) if token is not None else (None, repo)
    wanted = Wanted(
        repo,
        licence,
        tuple(dict.fromkeys(kinds)),
        public=public,
        traces=traces,
        allow_benchmark=allow_benchmark,
        allow_held_out=allow_held_out,
        overwrite=overwrite,
        licence_name=licence_name,
        licence_link=licence_link,
    )
    with TemporaryDirectory(prefix="synth-publish-") as aside:
        prepared = prepare(ledger, wanted, Path(aside), token)
        sent = None
        if hub is not None and token is not None:
            sent = send(ledger, hub, wanted, prepared, token, say).revision
        return _report(wanted, prepared, sent)


def _report(wanted: Wanted, prepared: Prepared, revision: str | None) -> PublicationReport:
    publication = prepared.publication
    assert isinstance(publication.card.content, bytes)
    return PublicationReport(
        repo=wanted.repo,
        rows=dict(publication.rows),
        files={file.path: file.size for file in (*publication.data, publication.card)},
        card=publication.card.content.decode(),
        left_out=prepared.left_out,
        revision=revision,
    )
