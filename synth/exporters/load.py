"""A dataset for training, loaded only where each byte is as its SHA256SUMS says: `from
synth.exporters.load import load_verified`.
"""

from pathlib import Path
from typing import Any

from synth.exporters.folder.sums import SUMS, folder_problems, leads_out, read_sums, texts_in
from synth.ledger.storage import Storage
from synth.schemas import ConfigError, DamagedError

ROWS = (".parquet", ".jsonl", ".json")
_OF_LOADING = (
    "split",
    "verification_mode",
    "keep_in_memory",
    "save_infos",
    "streaming",
    "num_proc",
)
"""What `load_dataset` takes and `load_dataset_builder` does not: it says how rows are loaded, not
which.
"""


def load_verified(
    source: str | Path,
    name: str | None = None,
    *,
    expect: str | None = None,
    revision: str | None = None,
    **given: Any,
) -> Any:
    """What `datasets.load_dataset(source, name, **given)` gives, of a dataset's folder or of a
    repository on the Hub.

    `expect`: the SHA-256 of its SHA256SUMS, as `synth verify` prints it; without it a dataset that
    was rewritten as a whole, sums included, passes. Raises `DamagedError` for the first file that
    is not as the sums say, and for one that they do not name, before anything is loaded;
    `ConfigError` where there is no dataset.
    """
    from datasets import load_dataset, load_dataset_builder

    local = Path(source).is_dir()
    folder = Path(source) if local else _downloaded(str(source), revision, given.get("token"))
    storage = Storage(str(folder))
    _refuse_damaged(storage, expect)

    # what is asked for may name files elsewhere
    asked = {key: value for key, value in given.items() if key not in _OF_LOADING}

    for path in texts_in([asked.get("data_files"), asked.get("data_dir")]):
        if leads_out(path):
            raise DamagedError(
                f"{path}: lies outside of {storage.url}, whose {SUMS} does not name it; nothing "
                "was loaded"
            )

    # what would be read is known before anything is
    builder = load_dataset_builder(str(folder), name, **asked)
    _refuse_unnamed(folder, storage, builder.config.data_files)
    loaded = load_dataset(str(folder), name, **given)
    _refuse_media(storage, loaded)

    return loaded


def _refuse_damaged(storage: Storage, expect: str | None) -> None:
    """Raises `DamagedError` for the first file that is not as the sums say, and for other sums than
    were expected.
    """
    problem = next(folder_problems(storage), None)
    if problem is not None:
        raise DamagedError(f"{problem}; nothing was loaded")

    if expect not in (None, sums := storage.sha256(SUMS)):
        raise DamagedError(
            f"{storage.path(SUMS)}: its digest is {sums}, not the one that was expected; nothing "
            "was loaded"
        )


def _refuse_unnamed(folder: Path, storage: Storage, found: Any) -> None:
    """Raises `DamagedError` where what `datasets` would read is another file than the sums name, or
    of a kind that may name others.
    """
    sums, root = read_sums(storage), folder.absolute()

    for path in (Path(path) for paths in (found or {}).values() for path in paths):
        inside = [place for place in (root, root.resolve()) if path.is_relative_to(place)]

        if not inside or str(path.relative_to(inside[0])) not in sums:
            raise DamagedError(
                f"{path}: `datasets` would read it, and {storage.path(SUMS)} does not name it; "
                "nothing was loaded"
            )

        if path.suffix not in ROWS:
            raise DamagedError(
                f"{path}: synth writes rows as {' or '.join(ROWS)}, and other kinds may name "
                "files elsewhere; nothing was loaded"
            )


def _refuse_media(storage: Storage, loaded: Any) -> None:
    """Raises `DamagedError` for columns whose values are read from the paths that they name."""
    from datasets.features.features import require_storage_embed

    for split in loaded.values() if isinstance(loaded, dict) else [loaded]:
        for column, feature in (split.features or {}).items():
            if require_storage_embed(feature):
                raise DamagedError(
                    f"{storage.url}: its column {column!r} would be read from the paths in it; "
                    "use none of it"
                )


def _downloaded(repo: str, revision: str | None, token: Any) -> Path:
    """All of a repository's revision, in the Hub's cache. Raises `ConfigError` for what cannot be
    one.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        return Path(snapshot_download(repo, repo_type="dataset", revision=revision, token=token))
    except (HFValidationError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        raise ConfigError(
            f"{repo}: is no dataset's folder, and no dataset on the Hub that may be read; name "
            "one of both"
        ) from error
