"""Another flow in the folder of a run: it does no work and replaces nothing unless it is told
to.
"""

import shutil
from pathlib import Path

import pytest

from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.flows.curate import curate
from synth.ledger import StoredLedger
from synth.schemas.errors import ConfigError
from tests.attack.finished_run import finish, found, tree, whole_flow
from tests.flow_files import run_flow


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finish(tmp_path_factory.mktemp("first") / "run")


@pytest.fixture
def run(first: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(first, tmp_path / "run"))


def standing(run: Path) -> dict[str, tuple[bytes, int]]:
    return {
        name: held for name, held in tree(run).items() if not name.startswith(("workers", "claims"))
    }


REFUSED = (
    r"datasets/(sft|rl): holds the dataset of the flow 'echo', and the flow 'other' would "
    r"replace it; give its export a `name`"
)


@pytest.mark.parametrize("recipe", ["run", "curate"])
@pytest.mark.parametrize(
    "changes", [{}, {"trials": 3, "seed": 4}, {"export": {"as": "verl", "kinds": ["rl"]}}]
)
def test_another_flow_is_refused_before_it_does_any_work(
    run: Path, recipe: str, changes: dict[str, object]
) -> None:
    before = standing(run)
    with pytest.raises(ConfigError, match=REFUSED) as refused:
        run_flow(
            whole_flow(name="other", **changes),
            str(run),
            *((curate,) if recipe == "curate" else ()),
        )  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)
    assert str(refused.value).endswith("or have it replaced: --set stages.export.overwrite=true")
    assert standing(run) == before


def test_another_flow_with_a_name_for_its_export_works_beside_it_and_both_go_on(run: Path) -> None:
    first = tree(run / "datasets")
    run_flow(whole_flow(name="other", export={"name": "b"}), str(run))
    now = tree(run / "datasets")
    assert {name: held for name, held in now.items() if not name.startswith("b-")} == first
    assert {name.partition("/")[0] for name in now} == {"sft", "rl", "b-sft", "b-rl"}
    assert found(run) == []
    run_flow(whole_flow(), str(run))
    assert tree(run / "datasets") == now
    assert found(run) == []


def test_told_to_it_replaces_them_and_then_the_first_flow_is_the_other_one(run: Path) -> None:
    run_flow(whole_flow(name="other", seed=5, export={"overwrite": True}), str(run))
    assert StoredLedger(str(run)).state.written["datasets/sft"].flow == "other"
    assert found(run) == []
    with pytest.raises(
        ConfigError,
        match="holds the dataset of the flow 'other', and the flow 'echo' would replace it",
    ):
        run_flow(whole_flow(), str(run))
    run_flow(whole_flow(export={"overwrite": True}), str(run))
    assert found(run) == []


@pytest.mark.parametrize("changes", [{"trials": 3}, {"seed": 9, "export": {"kinds": ["rl"]}}])
def test_the_same_flow_changed_replaces_its_own(run: Path, changes: dict[str, object]) -> None:
    run_flow(whole_flow(**changes), str(run))  # type: ignore[arg-type]
    assert found(run) == []


def test_another_datasets_place_is_never_taken_by_an_export(run: Path) -> None:
    before = tree(run / "datasets")
    for kind, folder in (("rl", "sft"), ("sft", "rl")):
        with pytest.raises(ConfigError, match="holds a dataset that a flow wrote"):
            export(
                kind,
                StoredLedger(str(run)),
                DatasetFolder(run / "datasets" / folder),
                RowSettings(include_scripted=True),
            )
    assert tree(run / "datasets") == before


def test_a_dataset_of_a_run_of_an_earlier_version_is_known_by_the_stage_that_its_manifest_names(
    run: Path,
) -> None:
    """No line names its files, so the key in its manifest.json tells whose it is."""
    ledger = StoredLedger(str(run))
    del ledger.state.written["datasets/sft"]
    from synth.exporters.folder.in_run import owner, refuse_others

    assert owner(ledger, "datasets/sft") == "echo"
    with pytest.raises(ConfigError, match="holds the dataset of the flow 'echo'"):
        refuse_others(ledger, "datasets/sft", "other", "export")
    refuse_others(ledger, "datasets/sft", "echo", "export")
    refuse_others(ledger, "datasets/none", "other", "export")
