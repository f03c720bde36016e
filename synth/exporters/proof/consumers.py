"""The consumer's own code over every row, where it is installed; where it is not, that is said."""

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from synth.exporters.kind import Form
from synth.exporters.proof.findings import Findings
from synth.exporters.row_files import FOLDER
from synth.exporters.tally import Tally

Rows = Callable[[], Iterable[Mapping[str, Any]]]
_PACKAGES = {
    "trl": "trl",
    "llamafactory": "llamafactory",
    "axolotl": "axolotl",
    "verl": "verl",
    "atif": "atif",
}


def consumer_findings(folder: Path, tally: Tally, rows: Rows, findings: Findings) -> None:
    """TRL: its own test of conversations; LLaMA-Factory: its converter; ATIF: the models of the
    package `atif`; others: not proven.
    """
    name = tally.form.name
    package = _PACKAGES.get(name)
    if package is None:
        return
    if find_spec(package) is None:
        findings.unproven.append(
            f"{name} is not installed here (pip install {package}): its own code was not asked"
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


def _trl(tally: Tally, rows: Rows, findings: Findings) -> None:
    from trl.data_utils import is_conversational

    if tally.kind.name in ("prm", "rl"):
        return
    count = strange = 0
    for row in rows():
        count += 1
        strange += not is_conversational(dict(row))
    if strange:
        findings.failed.append(f"TRL does not take {strange} of {count} rows for conversations")
    else:
        findings.proven.append(f"TRL takes all {count} rows for conversations")


def _llamafactory(form: Form, rows: Rows, findings: Findings) -> None:
    import json

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
    count = dropped = 0
    for row in rows():
        count += 1
        dropped += not convert(dict(row))["_response"]
    if dropped:
        findings.failed.append(f"LLaMA-Factory leaves {dropped} of {count} rows out")
    else:
        findings.proven.append(f"LLaMA-Factory's converter takes all {count} rows")


def _atif(folder: Path, findings: Findings) -> None:
    from importlib import import_module

    from pydantic import ValidationError

    document: Any = import_module("atif").Trajectory
    count, refused, first = 0, 0, ""
    for path in sorted((folder / FOLDER).iterdir()):
        count += 1
        try:
            document.model_validate_json(path.read_bytes())
        except ValidationError as error:
            refused += 1
            first = first or " ".join(str(error).split())[:160]
    if refused:
        findings.failed.append(f"the package atif refuses {refused} of {count} documents: {first}")
    else:
        findings.proven.append(f"the package atif takes all {count} documents")
