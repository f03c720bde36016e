"""Whether a consumer's own code takes the rows, where it is installed: TRL's test of conversations,
LLaMA-Factory's converter, the models of the package `atif`.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from synth.exporters.form import Form
from synth.exporters.proof.reading import ProofIssues
from synth.exporters.tally import ExportCounts

Rows = Callable[[], Iterable[Mapping[str, Any]]]
_PACKAGES = ("trl", "llamafactory", "axolotl", "verl", "atif")
"""Called as the forms are."""


def consumer_findings(tally: ExportCounts, rows: Rows, findings: ProofIssues) -> None:
    """What the package that is called as the form is makes of each row; others are not proven."""
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
        _atif(rows, findings)
    elif name == "llamafactory":
        _llamafactory(tally.form, rows, findings)
    else:
        findings.unproven.append(
            f"{name}: its own loader needs a training configuration, and was not asked"
        )


def _trl(tally: ExportCounts, rows: Rows, findings: ProofIssues) -> None:
    """Whether TRL's trainers of chats and preferences would render a row as a conversation.

    Step values and tasks are no conversations, and are not asked about.
    """
    from trl.data_utils import is_conversational

    if tally.kind.name in ("prm", "rl"):
        return

    taken = [is_conversational(dict(row)) for row in rows()]
    strange = taken.count(False)
    findings.add(
        f"TRL takes all {len(taken)} rows for conversations",
        f"TRL does not take {strange} of {len(taken)} rows for conversations",
        wrong=strange > 0,
    )


def _llamafactory(form: Form, rows: Rows, findings: ProofIssues) -> None:
    """Whether its converter gives a row an answer to train on, with `dataset_info.json` as it is
    written.

    A row that it does not take has an empty `_response`: it warns, and goes on without it.
    """
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
    # read as its own registry of datasets would have it
    attributes = DatasetAttr("file", dataset_name="train.parquet")
    attributes.join(entry)
    convert = SharegptDatasetConverter(dataset_attr=attributes, data_args=None)
    taken = [bool(convert(dict(row))["_response"]) for row in rows()]
    dropped = taken.count(False)
    findings.add(
        f"LLaMA-Factory's converter takes all {len(taken)} rows",
        f"LLaMA-Factory leaves {dropped} of {len(taken)} rows out",
        wrong=dropped > 0,
    )


def _atif(rows: Rows, findings: ProofIssues) -> None:
    """Whether each document is one that the models of the package allow.

    The first refusal is told in one line.
    """
    from pydantic import ValidationError

    document: Any = import_module("atif").Trajectory
    count, refused = 0, []

    for row in sorted(rows(), key=lambda row: str(row["name"])):
        count += 1

        try:
            document.model_validate_json(row["text"])
        except ValidationError as error:
            refused.append(" ".join(str(error).split())[:160])

    findings.add(
        f"the package atif takes all {count} documents",
        f"the package atif refuses {len(refused)} of {count} documents: {''.join(refused[:1])}",
        wrong=bool(refused),
    )
