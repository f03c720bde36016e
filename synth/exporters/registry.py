"""Exporters by kind of data set, and the forms in which each can be written; importing this loads none."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from synth.boundary import imported

if TYPE_CHECKING:
    from synth.exporters.sft import ExportReport

EXPORTERS: dict[str, str] = {
    "sft": "synth.exporters.sft:export_sft",
}

SFT_FORMS: dict[str, str] = {
    "trl": "synth.exporters.trl:SFT",
}


def exporter(kind: str) -> "Callable[..., ExportReport]":
    """Writes the trajectories, each with its verdicts, into a dataset folder: `(trajectories, folder, settings, spelling)`."""
    return cast("Callable[..., ExportReport]", imported(f"kind {kind!r}", EXPORTERS[kind]))
