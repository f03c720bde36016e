"""Calls to the Hub: tried again where that may help, told in one line where it does not, and never
with the token in it.
"""

import logging
import random
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import msgspec
from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi
from huggingface_hub.errors import (
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
)
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils._http import (
    default_client_factory,
    hf_raise_for_status,
    set_client_factory,
)
from huggingface_hub.utils.tqdm import disable_progress_bars

from synth.hub.publication import File, Remote
from synth.models.backoff import Backoff, wait_s
from synth.models.server_error import retry_after_s
from synth.schemas import ConfigError, SynthError

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
BACKOFF = Backoff(max_retries=5, base_s=0.5, cap_s=60.0, total_s=1800.0)
LONGEST_WAIT_S = 900.0
"""A server that asks for a longer wait is not waited for: what was sent is kept there, and a rerun
goes on.
"""
TIMEOUT_S = 600.0
"""Without a byte: large commits take the Hub minutes."""
_AGAIN = frozenset({408, 429, 500, 502, 503, 504})
_MOVED = frozenset({409, 412})


class MovedError(Exception):
    """Somebody else committed in between."""


class _HubMessage(msgspec.Struct, frozen=True):
    message: str


class _Refusal(msgspec.Struct, frozen=True):
    errors: tuple[_HubMessage, ...]


class Hub:
    """One account on one Hub: that of HF_ENDPOINT, else the public one. `say` is told what is
    waited for.
    """

    def __init__(
        self,
        token: str,
        say: Callable[[str], None],
        backoff: Backoff = BACKOFF,
        endpoint: str | None = None,
    ) -> None:
        disable_progress_bars()
        set_client_factory(_client)
        for name in ("huggingface_hub", "httpx2"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self._api = HfApi(endpoint=endpoint, token=token)
        self._token = token
        self.say = say
        self._backoff = backoff
        self.commits = 0

    @property
    def endpoint(self) -> str:
        return str(self._api.endpoint)

    def account(self) -> str:
        """The account's name. Raises `ConfigError` for a token that the Hub does not know."""
        return str(self._tried("whoami", self._api.whoami, most=2)["name"])

    def validate_card(self, card: str) -> None:
        """Raises `ConfigError` for metadata that the Hub refuses, before anything is sent."""
        from huggingface_hub import DatasetCard

        try:
            self._tried(
                "validate-yaml",
                lambda: DatasetCard(card, ignore_metadata_errors=True).validate("dataset"),
            )
        except ValueError as error:
            raise ConfigError(
                f"the Hub refuses the card's metadata: {self.clean(_messages(error))}; is "
                "--license one of its names?"
            ) from error

    def look(self, repo: str) -> Remote | None:
        """The repository, None where there is none that this account sees."""
        try:
            info = self._tried("dataset info", lambda: self._api.dataset_info(repo))
        except RepositoryNotFoundError:
            return None
        head = str(info.sha)
        tree = self._tried(
            "file list",
            lambda: list(
                self._api.list_repo_tree(repo, recursive=True, revision=head, repo_type="dataset")
            ),
        )
        files = {
            entry.path: (entry.size, None if entry.lfs is None else entry.lfs.sha256, entry.blob_id)
            for entry in tree
            if isinstance(entry, RepoFile)
        }
        return Remote(repo, head, bool(info.private), files)

    def read(self, repo: str, path: str, revision: str) -> bytes:
        """A small file."""
        with TemporaryDirectory() as folder:
            at = self._tried(
                path,
                lambda: self._api.hf_hub_download(
                    repo, path, repo_type="dataset", revision=revision, local_dir=folder
                ),
            )
            return Path(at).read_bytes()

    def create(self, repo: str) -> None:
        """A private dataset repository."""
        self._tried(
            "create repository",
            lambda: self._api.create_repo(repo, repo_type="dataset", private=True, exist_ok=True),
        )

    def make_public(self, repo: str) -> None:
        """All may read it from now on."""
        self._tried(
            "make public",
            lambda: self._api.update_repo_settings(repo, repo_type="dataset", private=False),
        )

    def commit(
        self, repo: str, files: Sequence[File], stale: Sequence[str], message: str, head: str
    ) -> str:
        """One commit onto `head`; its id. Raises `MovedError` where the repository has another head
        by now, or the commit's fate is open.

        What the Hub holds of the files already is not sent again.
        """

        def once() -> str:
            operations: list[CommitOperationAdd | CommitOperationDelete] = [
                CommitOperationAdd(
                    file.path, str(file.content) if isinstance(file.content, Path) else file.content
                )
                for file in files
            ]
            operations += [CommitOperationDelete(path) for path in stale]
            done = self._api.create_commit(
                repo, operations, commit_message=message, repo_type="dataset", parent_commit=head
            )
            return str(done.oid)

        try:
            oid = self._tried("commit", once)
        except HfHubHTTPError as error:
            if error.response.status_code in _MOVED:
                raise MovedError from error
            raise self._told("commit", error) from error
        self.commits += 1
        return oid

    def _tried(self, what: str, call: Callable[[], T], most: int | None = None) -> T:
        """A call, again after trouble that may pass: `most` times, and no longer than
        LONGEST_WAIT_S at once.
        """
        import httpx2

        most = self._backoff.max_retries if most is None else most
        for retry in range(most + 1):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return call()
            except (RepositoryNotFoundError, HFValidationError):
                raise
            except (
                HfHubHTTPError,
                httpx2.TransportError,
                ConnectionError,
                LocalEntryNotFoundError,
                RuntimeError,
            ) as wrapped:
                error = _cause(wrapped)
            asked, trouble = None, type(error).__name__
            again = not isinstance(error, OfflineModeIsEnabled)
            if isinstance(error, HfHubHTTPError):
                code = error.response.status_code
                if code in _MOVED:
                    raise error
                asked = retry_after_s(error.response.headers, time.time())
                again, trouble = code in _AGAIN and (asked or 0) <= LONGEST_WAIT_S, f"HTTP {code}"
            if not again or retry == most:
                raise self._told(what, error, asked) from error
            wait = wait_s(self._backoff, retry, random.random(), asked)
            self.say(f"{what}: {trouble}; trying again in {wait:.1f} s ({retry + 1} of {most})")
            time.sleep(wait)
        raise AssertionError("unreachable")

    def _told(self, what: str, error: Exception, asked_s: float | None = None) -> SynthError:
        """One line for the user."""
        if isinstance(error, HfHubHTTPError):
            code = error.response.status_code
            said = self.clean(error.server_message or "")
            if code in (401, 403):
                why = (
                    "the token is not valid, or has expired"
                    if code == 401
                    else "the token may not do this: it needs write access"
                )
                return ConfigError(
                    f"{self.endpoint}: {what}: HTTP {code}: {why}{f' ({said})' if said else ''}"
                )
            if code == 400:
                return ConfigError(f"{self.endpoint}: {what}: refused: {self.clean(error)}")
            later = f"; it asks to wait {asked_s:.0f} s" if asked_s else ""
            return SynthError(
                f"{self.endpoint}: {what}: HTTP {code}{f' ({said})' if said else ''}{later}; what "
                "was sent is kept: "
                "the same command goes on where this one stopped"
            )
        if isinstance(error, OfflineModeIsEnabled):
            return ConfigError("HF_HUB_OFFLINE is set: unset it to publish")
        why = self.clean(error) or type(error).__name__
        return SynthError(
            f"{self.endpoint}: {what}: cannot be reached ({why}); nothing is lost: run the same "
            "command again"
        )

    def clean(self, text: object) -> str:
        """On one line, without the token."""
        return " ".join(str(text).replace(self._token, "[token]").split())[:400]


def _messages(error: ValueError) -> str:
    """What the Hub says of a card, which it says in JSON."""
    try:
        said = msgspec.json.decode(str(error), type=_Refusal)
    except msgspec.DecodeError:
        return str(error)
    return "; ".join(one.message for one in said.errors)


def _cause(error: Exception) -> Exception:
    """What went wrong in an upload or a download; huggingface_hub wraps it. Raises what is no
    trouble with the server.
    """
    if isinstance(error, RuntimeError):
        if not isinstance(error.__cause__, Exception):
            raise error
        return _cause(error.__cause__)
    return error


def _client() -> "httpx2.Client":
    """huggingface_hub's own, but that would wait for ever: for answers, and, without a word, as
    long as a server asks.
    """
    client = default_client_factory()
    client.timeout = TIMEOUT_S

    def refuse_long_waits(response: "httpx2.Response") -> None:
        if (
            response.status_code in _AGAIN
            and (retry_after_s(response.headers, time.time()) or 0) > LONGEST_WAIT_S
        ):
            response.read()
            hf_raise_for_status(response)

    client.event_hooks = {
        **client.event_hooks,
        "response": [*client.event_hooks["response"], refuse_long_waits],
    }
    return client
