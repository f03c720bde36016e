"""The consumer's own code over every row, where it is installed; where it is not, that is said."""

import json
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from synth.exporters.kind import Form
from synth.exporters.proof.findings import ProofIssues
from synth.exporters.row_files import FOLDER
from synth.exporters.tally import ExportCounts

Rows = Callable[[], Iterable[Mapping[str, Any]]]
_PACKAGES = ("trl", "llamafactory", "axolotl", "verl", "atif")
"""Called as the forms are."""


def consumer_findings(folder: Path, tally: ExportCounts, rows: Rows, findings: ProofIssues) -> None:
    """TRL: its own test of conversations; LLaMA-Factory: its converter; ATIF: the models of the
    package `atif`; others: not proven.
    """
    name = tally.form.name
    if name not in _PACKAGES:
        return
    if find_spec(name) is None:
        findings.unproven.append(
            f"{name} is not installed here (pip install {name}): its own code was not asked"
        )
    elif name == "trl":
        _trl(tally, rows, findings)
    elif name == "atif":
        _atif(folder, findings)
    elif name == "llamafactory":
        _llamafactory(tally.form, rows, findings)
    else:
        findings.unproven.append(
            f"{name}: its own loader needs a training configuration, and was not asked"
        )


def _trl(tally: ExportCounts, rows: Rows, findings: ProofIssues) -> None:
    from trl.data_utils import is_conversational

    if tally.kind.name in ("prm", "rl"):
        return
    taken = [is_conversational(dict(row)) for row in rows()]
    strange = taken.count(False)
    findings.add(
        f"TRL takes all {len(taken)} rows for conversations",
        f"TRL does not take {strange} of {len(taken)} rows for conversations" if strange else None,
    )


def _llamafactory(form: Form, rows: Rows, findings: ProofIssues) -> None:
    try:
        from llamafactory.data.converter import SharegptDatasetConverter
        from llamafactory.data.parser import DatasetAttr
    except ImportError as error:
        findings.unproven.append(
            f"llamafactory is installed, and cannot be imported ({error}): its converter was not "
            "asked"
        )
        return

    (entry,) = json.loads(form.beside(("train.parquet",))["dataset_info.json"]).values()
    attributes = DatasetAttr("file", dataset_name="train.parquet")
    attributes.join(entry)
    convert = SharegptDatasetConverter(dataset_attr=attributes, data_args=None)
    taken = [bool(convert(dict(row))["_response"]) for row in rows()]
    dropped = taken.count(False)
    findings.add(
        f"LLaMA-Factory's converter takes all {len(taken)} rows",
        f"LLaMA-Factory leaves {dropped} of {len(taken)} rows out" if dropped else None,
    )


def _atif(folder: Path, findings: ProofIssues) -> None:
    from pydantic import ValidationError

    document: Any = import_module("atif").Trajectory
    paths, refused = sorted((folder / FOLDER).iterdir()), []
    for path in paths:
        try:
            document.model_validate_json(path.read_bytes())
        except ValidationError as error:
            refused.append(" ".join(str(error).split())[:160])
    findings.add(
        f"the package atif takes all {len(paths)} documents",
        f"the package atif refuses {len(refused)} of {len(paths)} documents: {refused[0]}"
        if refused
        else None,
    )
