"""What was published, read again from the Hub as a user reads it, and compared with what was
sent.
"""

import errno
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

import msgspec
import pyarrow as pa

from synth.exporters.folder.sums import SUMS
from synth.ledger.atomic_write import written_file
from synth.schemas import SynthError

STREAMED_BYTES = 500 * 10**6
"""Configurations of more are counted as they stream by, and lie on no disk."""


class Sent(msgspec.Struct, frozen=True):
    """A configuration as it was sent: rows, bytes of its shards, their schema, and the SHA-256 of
    each shard by its path there.
    """

    rows: int
    bytes: int
    schema: Any
    files: Mapping[str, str] = {}


def differences(repo: str, revision: str, sent: Mapping[str, Sent], token: str) -> Iterator[str]:
    """A line for each configuration that `load_dataset` gives back otherwise than it was sent, or
    not at all.
    """
    import datasets
    from datasets import Features, get_dataset_config_names, load_dataset

    datasets.disable_progress_bars()
    datasets.utils.logging.set_verbosity_error()
    with TemporaryDirectory(prefix="synth-readback-") as cache, _downloaded_to(cache):
        given: dict[str, Any] = {"revision": revision, "token": token}
        names = set(get_dataset_config_names(repo, **given))
        for name in sorted(names ^ set(sent)):
            yield f"configuration {name}: {'was not sent' if name in names else 'is not there'}"
        for name in sorted(names & set(sent)):
            one = sent[name]
            streamed = one.bytes > STREAMED_BYTES
            found = load_dataset(
                repo, name, split="train", streaming=streamed, cache_dir=cache, **given
            )
            features, expected = found.features, Features.from_arrow_schema(one.schema)
            rows = (
                sum(batch.num_rows for batch in found.with_format("arrow").iter(1000))
                if streamed
                else found.num_rows
            )
            if rows != one.rows:
                yield f"configuration {name}: {rows} rows instead of {one.rows}"
            if features != expected:
                yield f"configuration {name}: {_differing(features or {}, expected)}"
            # the others lie on no disk; the Hub's own digests of them were compared as they arrived
            if not streamed:
                yield from _other_bytes(repo, one.files, {**given, "cache_dir": cache})


def _other_bytes(repo: str, files: Mapping[str, str], given: Mapping[str, Any]) -> Iterator[str]:
    """A line for each shard whose bytes, as the Hub gives them, are not those that its SHA256SUMS
    names.
    """
    from huggingface_hub import hf_hub_download

    told = (
        Path(hf_hub_download(repo, SUMS, repo_type="dataset", **given))
        .read_text(encoding="utf-8", errors="replace")
        .splitlines()
    )
    for path, sha in files.items():
        here = Path(hf_hub_download(repo, path, repo_type="dataset", **given))
        held = written_file(here).sha256
        if held != sha or f"{sha}  {path}" not in told:
            yield f"{path}: its bytes, or those of {SUMS}, are not those that were sent"


def require_equal(repo: str, revision: str, sent: Mapping[str, Sent], token: str) -> None:
    """Raises `SynthError` that names what differs."""
    from datasets.exceptions import DatasetsError

    try:
        found = list(differences(repo, revision, sent, token))
    except (
        OSError,
        ValueError,
        RuntimeError,
        pa.ArrowException,
        DatasetsError,
    ) as error:  # what datasets raises for what it cannot load
        if errno.ENOSPC in (
            getattr(one, "errno", None) for one in (error, error.__cause__, error.__context__)
        ):
            raise SynthError(
                f"{repo}: was sent, but {gettempdir()} has no room to read it back in: free some, "
                "or name another folder with TMPDIR, and "
                "run the same command again (it sends nothing twice)"
            ) from error
        told = f"{error} {error.__cause__ or ''}"
        said = " ".join(told.replace(token, "[token]").split())[:600]
        raise SynthError(
            f"{repo}: was sent, but cannot be read back: {type(error).__name__}: {said}"
        ) from error
    if found:
        raise SynthError(
            f"{repo}: what the Hub gives back is not what was sent: {'; '.join(found)}"
        )


@contextmanager
def _downloaded_to(folder: str) -> Iterator[None]:
    """huggingface_hub keeps what it downloads; `load_dataset` cannot tell it to do so elsewhere
    than in the user's cache.
    """
    from huggingface_hub import constants

    before, constants.HF_HUB_CACHE = constants.HF_HUB_CACHE, folder
    try:
        yield
    finally:
        constants.HF_HUB_CACHE = before


def _differing(found: Mapping[str, Any], expected: Mapping[str, Any]) -> str:
    missing = sorted(set(expected) - set(found))
    extra = sorted(set(found) - set(expected))
    other = sorted(name for name in set(found) & set(expected) if found[name] != expected[name])
    told = [
        f"columns {', '.join(names)} {what}"
        for names, what in ((missing, "missing"), (extra, "too many"))
        if names
    ]
    return "; ".join(
        [*told, *(f"column {name} is {found[name]} instead of {expected[name]}" for name in other)]
    )
