"""Data sets that flows exported, and a small student: once for all trainers."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.critical_steps import EXPLORER
from synth.exporters.export import export
from synth.exporters.folder.dataset_folder import DatasetFolder
from synth.exporters.kind import RowSettings
from synth.ledger.ledger import StoredLedger
from synth.schemas.flow import Flow
from tests.flow_files import model_flow, run_flow
from tests.synth.exporters.test_training import tiny_model
from tests.synth.models.chat_brains import echo_expert
from tests.synth.models.chat_server import ChatServer

STOREFRONT = {
    "name": "trainers",
    "seed": 1,
    "env": {"name": "storefront", "tasks": 16},
    "models": {"explorer": dict(EXPLORER)},
    "stages": [{"rollout": {"trials": 3}}, {"critical_step": {}}],
}


@pytest.fixture(scope="session", autouse=True)
def _alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    pytest.importorskip(
        "trl",
        reason="needs the extra: pip install -e '.[train]'; `make test-train` has an environment "
        "of its own",
    )
    import torch

    torch.set_num_threads(1)  # with more, a busy machine makes small models twenty times slower
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_DATASETS_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("SYNTH_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        patch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
        yield


def exported(run: str, folder: Path, kinds: tuple[str, ...], **settings: object) -> Path:
    for kind in kinds:
        export(
            kind,
            StoredLedger(run),
            DatasetFolder(folder / kind),
            RowSettings.model_validate(settings),
        )
    return folder


@pytest.fixture(scope="session")
def storefront(_alone: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every kind that TRL reads, from trials of the storefront and the tests of their critical
    steps; a script played them.
    """
    folder = tmp_path_factory.mktemp("storefront")
    run_flow(Flow.model_validate(STOREFRONT), str(folder / "run"))
    return exported(
        str(folder / "run"), folder, ("sft", "dpo", "kto", "prm", "rl"), include_scripted=True
    )


@pytest.fixture(scope="session")
def echo(_alone: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SFT and RL rows of the echo world, which a model behind a server played: nothing scripted."""
    folder = tmp_path_factory.mktemp("echo")
    with ChatServer(echo_expert) as server:
        stages = [{"rollout": {"trials": 1}}]
        run_flow(
            model_flow(server.url, env={"name": "echo", "tasks": 4, "turns": 1}, stages=stages),
            str(folder / "run"),
        )
    return exported(str(folder / "run"), folder, ("sft", "rl"))


@pytest.fixture(scope="session")
def student(storefront: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random weights; its tokenizer has seen a card of the data set and its rows."""
    import datasets

    folder = tmp_path_factory.mktemp("student")
    rows = datasets.load_dataset(str(storefront / "sft"), split="train")
    tiny_model(
        folder,
        [str(row["messages"]) + str(row["tools"]) for row in rows.select(range(8))],
        vocabulary=2000,
    )
    return folder


@pytest.fixture(scope="session")
def echo_student(echo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wide enough to learn the echo world by heart."""
    import datasets

    folder = tmp_path_factory.mktemp("echo_student")
    rows = datasets.load_dataset(str(echo / "sft"), split="train")
    tiny_model(
        folder,
        [str(row["messages"]) + str(row["tools"]) for row in rows],
        vocabulary=600,
        width=96,
        layers=2,
    )
    return folder
