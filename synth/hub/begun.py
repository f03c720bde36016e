"""What a publication was begun with, kept on this machine until it is whole: `--resume` goes on
with it.
"""

from pathlib import Path

import msgspec

from synth.hub.released import PublishRequest
from synth.ledger.journal import state_folder
from synth.ledger.ledger import Ledger
from synth.schemas.canonical import content_hash
from synth.schemas.errors import ConfigError


class Begun(msgspec.Struct, frozen=True):
    """The settings, and the digest of what was to go out."""

    wanted: PublishRequest
    digest: str


def note(ledger: Ledger, begun: Begun) -> None:
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


def noted(ledger: Ledger, repo: str) -> Begun:
    """What was begun. Raises `ConfigError` where nothing was, or all of it is done."""
    try:
        return msgspec.json.decode(_path(ledger, repo).read_bytes(), type=Begun)
    except (FileNotFoundError, msgspec.DecodeError) as error:
        raise ConfigError(
            f"--resume: no publication of {ledger.storage.url} to {repo} was begun on this "
            "machine and left open; leave --resume out"
        ) from error


def done(ledger: Ledger, repo: str) -> None:
    """It is whole."""
    _path(ledger, repo).unlink(missing_ok=True)


def _path(ledger: Ledger, repo: str) -> Path:
    return state_folder() / "publish" / ledger.state.run_id / f"{content_hash([repo])}.json"
