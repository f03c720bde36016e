"""A publication on its way to the Hub: with whose token, to which account, and back again to be
compared.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from huggingface_hub import get_token

from synth.hub.client import Hub
from synth.hub.publishing import PreparedUpload
from synth.hub.push import Pushed, push
from synth.hub.readback import require_equal
from synth.hub.released import PublishRequest
from synth.ledger.ledger import StoredLedger
from synth.ledger.storage.journal import state_folder
from synth.schemas import ConfigError, content_hash


class Begun(msgspec.Struct, frozen=True):
    """The settings, and the digest of what was to go out."""

    wanted: PublishRequest
    digest: str


def note(ledger: StoredLedger, begun: Begun) -> None:
    """Written before anything is sent. Raises `ConfigError` where it cannot be."""
    path = _path(ledger, begun.wanted.repo)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_suffix(".partial")
        aside.write_bytes(msgspec.json.encode(begun))
        aside.replace(path)
    except OSError as error:
        raise ConfigError(
            f"{path.parent}: cannot be written: {error.strerror}; nothing was sent; free some "
            "room, or set SYNTH_STATE_DIR"
        ) from error


def noted(ledger: StoredLedger, repo: str) -> Begun:
    """What was begun. Raises `ConfigError` where nothing was, or all of it is done."""
    try:
        return msgspec.json.decode(_path(ledger, repo).read_bytes(), type=Begun)
    except (FileNotFoundError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"--resume: no publication of {ledger.storage.url} to {repo} was begun on this "
            "machine and left open; leave --resume out"
        ) from error


def done(ledger: StoredLedger, repo: str) -> None:
    """It is whole."""
    _path(ledger, repo).unlink(missing_ok=True)


def _path(ledger: StoredLedger, repo: str) -> Path:
    return state_folder() / "publish" / ledger.state.run_id / f"{content_hash([repo])}.json"


TOKEN = "HF_TOKEN"


def write_token(name: str) -> str:
    """The token in an environment variable, for HF_TOKEN also the one that is kept on this machine.
    Raises `ConfigError`.
    """
    token = (os.environ.get(name) or (get_token() if name == TOKEN else None) or "").strip()
    if not token:
        raise ConfigError(
            f"{name} is not set: put a token with write access into it "
            "(https://huggingface.co/settings/tokens)"
        )
    if not (token.isascii() and token.isprintable()):
        raise ConfigError(f"{name}: holds characters that no token has; copy it again")
    return token


def hub_of(repo: str, token: str, say: Callable[[str], None]) -> tuple[Hub, str]:
    """The Hub, and the repository's whole name."""
    hub = Hub(token, say)
    account = hub.account()
    return hub, repo if "/" in repo else f"{account}/{repo}"


def send(
    ledger: StoredLedger,
    hub: Hub,
    wanted: PublishRequest,
    prepared: PreparedUpload,
    token: str,
) -> Pushed:
    """Sends what was prepared, and reads it back; public only once it is whole. Raises
    `SynthError`: a rerun goes on.
    """
    publication = prepared.publication
    if wanted.public:
        hub.say(
            "PUBLIC: once it is whole and was read back, everybody may read it; what was copied "
            "by then cannot be called back"
        )
    hub.validate_card(publication.card.text)
    note(ledger, Begun(wanted, publication.digest))
    pushed = push(hub, wanted.repo, publication, public=wanted.public, overwrite=wanted.overwrite)
    require_equal(wanted.repo, pushed.revision, prepared.sent, token)
    if wanted.public and pushed.private:
        hub.make_public(wanted.repo)
    done(ledger, wanted.repo)
    return pushed
