"""A publication on its way to the Hub: with whose token, to which account, and back again to be
compared.
"""

import os
from collections.abc import Callable

from huggingface_hub import get_token

from synth.hub import begun
from synth.hub.client import Hub
from synth.hub.publishing import Prepared
from synth.hub.push import Pushed, push
from synth.hub.readback import require_equal
from synth.hub.released import PublishRequest
from synth.ledger.ledger import Ledger
from synth.schemas.errors import ConfigError

TOKEN = "HF_TOKEN"


def write_token(name: str = TOKEN) -> str:
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
    ledger: Ledger,
    hub: Hub,
    wanted: PublishRequest,
    prepared: Prepared,
    token: str,
    say: Callable[[str], None],
) -> Pushed:
    """Sends what was prepared, and reads it back; public only once it is whole. Raises
    `SynthError`: a rerun goes on.
    """
    publication = prepared.publication
    if wanted.public:
        say(
            "PUBLIC: once it is whole and was read back, everybody may read it; what was copied "
            "by then cannot be called back"
        )
    assert isinstance(publication.card.content, bytes)
    hub.validate_card(publication.card.content.decode())
    begun.note(ledger, begun.Begun(wanted, publication.digest))
    pushed = push(
        hub, wanted.repo, publication, public=wanted.public, overwrite=wanted.overwrite, say=say
    )
    require_equal(wanted.repo, pushed.revision, prepared.sent, token)
    if wanted.public and pushed.private:
        hub.make_public(wanted.repo)
    begun.done(ledger, wanted.repo)
    return pushed
