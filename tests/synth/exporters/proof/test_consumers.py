"""The consumer's own code, where it is installed: documents of ATIF against the models of the
package `atif`.
"""

import json
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from synth.exporters.folder.shards import FOLDER, write_row_files
from synth.exporters.kind import RowSettings
from synth.exporters.kinds.sft_rows import sft_row
from synth.exporters.proof.consumers import consumer_findings
from synth.exporters.proof.reading import ProofIssues, loaded
from synth.exporters.registry import form_of, kind_of
from synth.exporters.tally import ExportCounts
from synth.schemas.trajectory import Observation, Source, Turn, Usage
from tests.synth.exporters.solved import call, result, trajectory


def asked(folder: Path) -> ProofIssues:
    findings = ProofIssues()
    tally = ExportCounts(kind_of("sft"), RowSettings(form="atif"), form_of("sft", "atif"))
    consumer_findings(tally, partial(loaded, folder, folder, tally.form), findings)
    return findings


def documents(folder: Path) -> None:
    heard = (
        result("one", "a"),
        Observation("Hm?", Source.USER, name="Ann"),
        Observation("It rains.", Source.ENVIRONMENT),
    )
    first = Turn(
        index=0,
        tool_calls=(call("{}", "a"),),
        observations=heard,
        usage=Usage(5, 2, 1, 1, 0.1),
        completion_token_ids=(1,),
    )
    row = sft_row(
        trajectory(turns=(first, Turn(index=1, content="b", injected="mistake"))),
        form_of("sft", "atif"),
    )
    write_row_files(folder, [form_of("sft", "atif").record(row)], "folder")


def test_the_package_atif_takes_what_is_written_and_refuses_what_is_not_atif(
    tmp_path: Path,
) -> None:
    pytest.importorskip("atif", reason="needs: pip install atif")
    documents(tmp_path)
    assert asked(tmp_path).proven == ["the package atif takes all 1 documents"]
    (path,) = (tmp_path / FOLDER).iterdir()
    path.write_text(json.dumps(json.loads(path.read_text()) | {"reward": 1.0}))
    (failed,) = asked(tmp_path).failed
    assert failed.startswith(
        "the package atif refuses 1 of 1 documents: 1 validation error for Trajectory reward"
    )


@pytest.mark.skipif(find_spec("atif") is not None, reason="atif is installed")
def test_a_consumer_that_is_not_installed_is_named(tmp_path: Path) -> None:
    documents(tmp_path)
    assert asked(tmp_path).unproven == [
        "atif is not installed here (pip install atif): its own code was not asked"
    ]
