"""What a form has no place for is counted and named before anything stands in the folder; a refusal
comes before that.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from synth.cli.export import export as command
from synth.exporters import facts
from synth.exporters.export import ExportReport, tally_for, write
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.forms.llamafactory import lost
from synth.exporters.kind import RowSettings
from synth.exporters.kinds.labelled import LabelledRow
from synth.exporters.kinds.sft import SFT, sft_rows
from synth.exporters.kinds.sft_rows import SftRow
from synth.exporters.registry import form_of
from synth.exporters.tally import ExportCounts
from synth.pairs import PairReport, PairSettings, preference_pairs
from synth.schemas.errors import ConfigError
from synth.schemas.text.messages import ENVIRONMENT_NAME
from synth.schemas.trajectory import Observation, Source, Turn
from tests.flow_files import echo_flow, run_flow
from tests.synth.exporters.solved import trajectory
from tests.synth.pairs.planted import accepted, act, fork, planted, run, valued

SILENT = trajectory("t2", tools=(), turns=(Turn(index=0, content="Hi."),))


def written(out: Path, heard: list[tuple[ExportReport, bool]], *sources: Any) -> ExportReport:
    """An export as session traces; `heard` gets what was announced, and whether the folder stood by
    then.
    """
    pairs: Any = [(source, {}) for source in sources]

    def rows(tally: ExportCounts) -> Iterator[SftRow]:
        return sft_rows(pairs, tally)

    def announce(report: ExportReport) -> None:
        heard.append((report, out.exists()))

    return write(tally_for(SFT, rows, RowSettings(form="sts")), rows, DatasetFolder(out), announce)


def test_losses_are_told_before_the_folder_stands(tmp_path: Path) -> None:
    heard: list[tuple[ExportReport, bool]] = []
    report = written(tmp_path / "out", heard, trajectory(), SILENT)
    ((announced, stood),) = heard
    assert not stood
    assert (announced.written, announced.unsaid) == ((), {facts.SCHEMAS: 1})
    assert announced.losses == (f"sts cannot say, of 1 of 2 rows: {facts.SCHEMAS}.",)
    assert set(announced.losses) <= set(announced.notes)
    assert report.written
    assert (tmp_path / "out").exists()


def test_losses_of_equally_many_rows_share_a_line_and_the_most_frequent_come_first(
    tmp_path: Path,
) -> None:
    heard: list[tuple[ExportReport, bool]] = []
    named = trajectory("t3", turns=(Turn(index=0, content="Hi.", agent="Bob", reward=0.5),))
    written(tmp_path / "out", heard, trajectory(), SILENT, named)
    assert heard[0][0].losses == (
        f"sts cannot say, of 2 of 3 rows: {facts.SCHEMAS}.",
        f"sts cannot say, of 1 of 3 rows: {facts.AGENTS}; {facts.TURN_VALUES}.",
    )


def test_what_must_not_be_replaced_is_refused_before_anything_is_told(tmp_path: Path) -> None:
    written(tmp_path / "out", [], trajectory())
    heard: list[tuple[ExportReport, bool]] = []
    with pytest.raises(ConfigError, match="holds another dataset"):
        written(tmp_path / "out", heard, SILENT)
    assert heard == []


def test_the_command_names_the_losses_and_then_the_folder(tmp_path: Path) -> None:
    solved = run(
        "a",
        act(0),
        act(1, "take"),
        solved=True,
        opening=(Observation("Bring the lamp.", Source.USER),),
    )
    ledger = planted(tmp_path, [solved], [])
    arguments = [ledger.storage.url, "--as", "sts", "--out", str(tmp_path / "out")]
    said = CliRunner().invoke(command, arguments, catch_exceptions=False).output.splitlines()
    assert said[-1] == f"sft  {tmp_path / 'out'}"
    assert said[-2].startswith("sts cannot say, of 1 of 1 rows: ")


def test_a_reason_says_what_could_be_done_about_it(tmp_path: Path) -> None:
    base, good = fork("a")
    ledger = planted(tmp_path, [base, good], [valued(good, 0, 2, 4, 0.5)])
    done = CliRunner().invoke(
        command, [ledger.storage.url, "--kind", "prm", "--out", str(tmp_path / "out")]
    )
    assert "left out as trl:undecided_step; no test decided them" in str(done.exception)


def test_llamafactory_names_speakers_that_it_cannot_tell_apart() -> None:
    user, world = (
        {"role": "user", "name": name, "content": "x"} for name in ("Ann", ENVIRONMENT_NAME)
    )
    agent = {"role": "assistant", "name": "Bob", "content": "y"}
    assert set(lost([user, agent])) == {facts.SPEAKERS, facts.AGENTS}
    assert lost([world]) == ("what the world itself says stands as the user's",)


@pytest.mark.parametrize("form", ["llamafactory", "axolotl"])
def test_what_a_pair_stands_on_is_named_where_a_form_has_no_columns_for_it(
    form: str, tmp_path: Path
) -> None:
    base, good = fork("a")
    ledger = planted(tmp_path, [base, good], [accepted(base, 1, good)])
    (found,) = preference_pairs(ledger, PairSettings(), PairReport())
    said = {"role": "assistant", "content": "a"}
    row = LabelledRow(found.pair, found.prompt, [], (said, said))
    assert form_of("dpo", form).unsaid(row) == (facts.EVIDENCE,)
    stamped = msgspec.structs.replace(
        row, trajectory=msgspec.structs.replace(row.trajectory, benchmark="tau-bench/airline")
    )
    assert (facts.KEPT_OUT in form_of("dpo", form).unsaid(stamped)) is (form == "axolotl"), (
        "only LLaMA-Factory's table has the column"
    )


@pytest.mark.slow
def test_a_flow_says_the_losses_of_its_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    stages = [
        {"rollout": {"trials": 1}},
        {"export": {"kinds": ["sft"], "as": "sts", "include_scripted": True}},
    ]
    _, _, said = run_flow(echo_flow(stages=stages), str(tmp_path / "run"))
    assert "export sft: sts cannot say, of 4 of 4 rows: " in said
