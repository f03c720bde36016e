"""A language model as a bot, played by a server of ours, on a library made by hand."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.repo.bench import Bench
from benchmarks.repo.model_bot import ModelBot, plays, reached
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.world import bound
from synth.schemas import ConfigError
from tests.envs.repo.tiny import pool_folder
from tests.synth.models.chat_brains import Body, Brain, called
from tests.synth.models.chat_mishaps import Mishap
from tests.synth.models.chat_server import ChatServer

SWAPPED, RIGHT = ("if value > high:\n        return " + end for end in ("low", "high"))
MENDS = {"path": "tiny/lengths.py", "old": SWAPPED, "new": RIGHT}
"""What is broken in the one of three tasks that returns the wrong bound."""


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with pool_folder() as folder:
        settings = RepoSettings(pool=str(folder))
        world = bound(settings)
        yield Bench(world, settings, world.make_tasks({}, 7, 9))


def calling(*calls: tuple[str, Any]) -> Brain:
    """A model that makes these calls one after the other, and the last one ever after."""

    def brain(body: Body) -> dict[str, Any]:
        made = sum(one["role"] == "assistant" for one in body["messages"])
        name, arguments = calls[min(made, len(calls) - 1)]
        return called(name, arguments, f"call_{made}")

    return brain


def told(
    bench: Bench, brain: Brain, capsys: pytest.CaptureFixture[str], *mishaps: Mishap, **asked: int
) -> list[str]:
    """What the part prints."""
    with ChatServer(brain, mishaps=mishaps) as server:
        asyncio.run(plays(ModelBot(server.url, "test-model", **asked), bench))
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
def test_a_model_that_mends_one_of_three_tasks_solves_it_alone(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = told(bench, calling(("replace", MENDS), ("submit", {})), capsys)
    assert lines[0] == "test-model, 8 turns, trials a task: 1"
    assert lines[1].startswith("  solved: 1 of 3 (33.3 %, above ")
    assert "tiny single_site" in lines[2]
    assert lines[3].startswith("  turns with a readable call: 6 of 6 ")
    assert lines[4].startswith("  turns answered by no error: 4 of 6 ")
    assert lines[5] == "  calls: replace 3, submit 3"
    assert lines[6].startswith("  episodes that changed a source: 1 of 3 ")
    assert lines[7:9] == [
        "  how episodes ended: done 3",
        "  attempts that a fault ended: 0 of 3 (below 63.16 %)",
    ]


@pytest.mark.slow
def test_one_that_writes_beside_the_source_solves_nothing_and_changes_no_source(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = ("bash", {"command": "echo clamp > NOTES"})
    lines = told(bench, calling(notes, ("submit", {})), capsys, trials=2)
    assert lines[1].startswith("  solved: 0 of 3 (0.0 %, above 0.0 %); 0 of 3 (below ")
    assert lines[5].startswith("  episodes that changed a source: 0 of 6 ")


@pytest.mark.slow
def test_calls_that_nobody_can_read_are_counted_and_end_nothing(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = told(bench, calling(("bash", '{"command": "pyt'), ("submit", {})), capsys)
    assert lines[2].startswith("  turns with a readable call: 3 of 6 ")
    assert lines[6] == "  how episodes ended: done 3"


@pytest.mark.slow
def test_a_fault_ends_one_attempt_and_no_other(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = Mishap("status", status=400)
    lines = told(bench, calling(("replace", MENDS), ("submit", {})), capsys, refused)
    assert lines[1].startswith("  solved: 1 of 3 ")
    assert lines[7] == "  how episodes ended: done 3"
    assert lines[8].startswith("  attempts that a fault ended: 1 of 4 ")
    assert lines[9].startswith("    1 x model: ")


def test_without_a_server_it_says_what_is_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYNTH_VLLM_PYTHON", raising=False)
    with (
        pytest.raises(ConfigError, match="give --model-url and --model, or set SYNTH_VLLM_PYTHON"),
        reached(ModelBot()),
    ):
        pass
