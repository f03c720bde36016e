"""Rows of a kind as a trainer loads them."""

from pathlib import Path
from typing import Any

from synth.exporters.export import ExportReport, export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.ledger.ledger import StoredLedger
from tests.synth.exporters.solved import load


def rows_of(
    tmp_path: Path, kind: str, ledger: StoredLedger, **settings: Any
) -> tuple[list[dict[str, Any]], ExportReport]:
    report = export(kind, ledger, DatasetFolder(tmp_path / "out"), RowSettings(**settings))
    return (load(tmp_path / "out", tmp_path / "cache") if report.rows else []), report
