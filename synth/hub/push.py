"""Brings a publication to the Hub: only what is not there yet, in few commits, and never half a
dataset that loads.
"""

from collections.abc import Sequence

import msgspec

from synth.engine.numbers import counted_noun
from synth.hub.client import Hub, MovedError
from synth.hub.publication import (
    BYTES_PER_COMMIT,
    FILES_PER_COMMIT,
    LIST,
    File,
    Listed,
    Publication,
    Remote,
    parts,
)
from synth.ledger.log.verify_written import CARD
from synth.schemas import ConfigError, SynthError

ROUNDS = 5
"""Looks at a repository that others commit to at the same time."""
_NOBODYS = frozenset({".gitattributes"})
"""Made with the repository."""


class Pushed(msgspec.Struct, frozen=True):
    """The commit at which the publication stands whole; `commits` 0 where it stood already."""

    revision: str
    commits: int
    private: bool


def push(
    hub: Hub,
    repo: str,
    publication: Publication,
    *,
    public: bool,
    overwrite: bool,
    bounds: tuple[int, int] = (FILES_PER_COMMIT, BYTES_PER_COMMIT),
) -> Pushed:
    """Makes the repository hold the publication; new ones are private.

    Shards have names that hold the digest of their rows, and cards name their shards: until the
    last commit an earlier publication loads
    as it was, and a first one does not load at all. Raises `ConfigError` for a repository that
    holds what synth did not write, or that is
    public unasked; `SynthError` where others keep committing.
    """
    before = hub.commits
    for _ in range(ROUNDS):
        remote = hub.look(repo)
        if remote is None:
            hub.create(repo)
            hub.say(f"created {repo} (private)")
            remote = hub.look(repo)
            if remote is None:
                raise ConfigError(
                    f"{hub.endpoint}: {repo}: cannot be seen after it was made; is it an account "
                    "that the token may write to?"
                )
        if not remote.private and not public:
            raise ConfigError(
                f"{repo}: is public already; give --public to publish there, or choose another name"
            )
        try:
            revision = _brought(hub, remote, publication, overwrite, bounds)
        except MovedError:
            hub.say(f"{repo}: changed meanwhile; looking again")
            continue
        _require_arrived(hub, repo, revision, publication)
        return Pushed(revision, hub.commits - before, remote.private)
    raise SynthError(
        f"{repo}: others committed to it {ROUNDS} times meanwhile; wait until they have finished "
        "and run the same command again"
    )


def _require_arrived(hub: Hub, repo: str, revision: str, publication: Publication) -> None:
    """Raises `SynthError` where the Hub names other bytes than were sent; not where it has moved on
    by now.
    """
    remote = hub.look(repo)
    if remote is None or remote.head != revision:
        return
    other = [
        file.path
        for file in (*publication.data, publication.card, publication.sums)
        if not remote.holds(file)
    ]
    if other:
        raise SynthError(
            f"{repo}: {other[0]} does not lie there as it was sent ({len(other)} such files); run "
            "the same command again"
        )


def _brought(
    hub: Hub, remote: Remote, publication: Publication, overwrite: bool, bounds: tuple[int, int]
) -> str:
    """The commit at which the repository holds the publication."""
    before = _listed(hub, remote)
    _require_ours(hub, remote, before, overwrite)
    last = (publication.card, publication.listed(), publication.sums)
    missing = [file for file in publication.data if not remote.holds(file)]
    kept = {file.path for file in (*publication.data, *last)}
    listed = before.files if before is not None else {}
    stale = sorted(path for path in listed if path in remote.files and path not in kept)
    if not missing and not stale and all(remote.holds(file) for file in last):
        return remote.head

    *first, rest = list(parts(missing, *bounds)) or [[]]
    head = _begun(hub, remote, publication, before, first) if first else remote.head
    files = [*rest, *(file for file in last if first or not remote.holds(file))]
    message = f"Publish {', '.join(publication.rows)}"
    return _committed(hub, remote.repo, files, stale, message, head)


def _begun(
    hub: Hub,
    remote: Remote,
    publication: Publication,
    before: Listed | None,
    first: Sequence[Sequence[File]],
) -> str:
    """Commits all parts but the last one: until that is there, the card loads what stood before, or
    nothing.
    """
    head = remote.head
    loads = before is not None and bool(before.rows) and CARD in remote.files
    card = hub.read(remote.repo, CARD, head).decode() if loads else publication.placeholder()
    begun = [file for file in publication.begun(before, card) if not remote.holds(file)]
    for number, part in enumerate(first, 1):
        files = [*begun, *part] if number == 1 else part
        message = f"Part {number} of {len(first) + 1}"
        head = _committed(hub, remote.repo, files, (), message, head)
    return head


def _committed(
    hub: Hub,
    repo: str,
    files: Sequence[File],
    stale: Sequence[str],
    message: str,
    head: str,
) -> str:
    oid = hub.commit(repo, files, stale, message, head)
    hub.say(
        f"{message}: {counted_noun(len(files), 'file')}, {sum(file.size for file in files):,} "
        f"bytes, {len(stale)} removed ({oid[:12]})"
    )
    return oid


def _listed(hub: Hub, remote: Remote) -> Listed | None:
    """What synth has written there, None where it has written nothing."""
    if LIST not in remote.files:
        return None
    try:
        listed = msgspec.json.decode(hub.read(remote.repo, LIST, remote.head), type=Listed)
    except msgspec.DecodeError:
        return None
    return listed if listed.written_by == "synth" else None


def _require_ours(hub: Hub, remote: Remote, before: Listed | None, overwrite: bool) -> None:
    repo = remote.repo
    if before is None:
        strangers = sorted(set(remote.files) - _NOBODYS)
        if strangers:
            raise ConfigError(
                f"{repo}: holds {strangers[0]}, which synth did not write; choose another name"
            )
        return
    if overwrite or CARD not in remote.files:
        return
    card = File(CARD, hub.read(repo, CARD, remote.head))
    if card.sha256 != before.files.get(CARD):
        raise ConfigError(
            f"{repo}: {CARD} was edited there since synth wrote it; keep a copy, then have it "
            "written anew with --overwrite"
        )
