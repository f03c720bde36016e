"""A language model as a ranker of repairs: a server of ours, whose probabilities are known."""

import asyncio
from collections.abc import Sequence

import pytest

from benchmarks.repo.bench import Bench
from benchmarks.repo.model_bot import ModelBot
from benchmarks.repo.model_ranker import AROUND, around, likeliest, ranks
from synth.envs.repo.bots.trying import RepairEdit
from synth.envs.repo.starting import RepoSettings
from synth.envs.repo.world import bound
from synth.models.registry import open_scoring
from synth.models.settings import ModelSettings
from tests.envs.repo.tiny import pool_folder
from tests.synth.models.chat_server import ChatServer

BEFORE = "".join(f"line{number}\n" for number in range(1, 41))


def edit(old: str, new: str, line: int = 20, path: str = "a.py") -> RepairEdit:
    return RepairEdit(path, BEFORE.replace(old, new), "number", line)


def in_order(edits: Sequence[RepairEdit]) -> list[RepairEdit]:
    """As a model ranks them for which a letter is the less likely the later it comes in ASCII."""

    async def asked(url: str) -> list[RepairEdit]:
        scorer = open_scoring(ModelSettings(engine="vllm", model="test-model", base_url=url))
        try:
            return await likeliest(scorer, "Mend it.", {"a.py": BEFORE}, edits)
        finally:
            await scorer.close()

    with ChatServer() as server:
        return asyncio.run(asked(server.url))


def test_edits_that_make_their_lines_likelier_come_first_and_equals_stay_as_they_were() -> None:
    worse, same, better = edit("line20", "mine20"), edit("line20", "nile20"), edit("line20", "a")
    assert in_order([worse, same, better]) == [better, same, worse]
    one, another = edit("line20", "nile20"), edit("line20", "enil20")
    assert in_order([one, another]) == [one, another]
    assert in_order([another, one]) == [another, one]


def test_the_lines_around_an_edit_are_the_same_ones_before_and_after() -> None:
    before, after = around(BEFORE, edit("line20\n", "line20\nmore\n"))
    lines = before.split("\n")
    assert (lines[0], lines[-1]) == (f"line{20 - AROUND}", f"line{20 + AROUND}")
    assert after.split("\n") == [*lines[: AROUND + 1], "more", *lines[AROUND + 1 :]]
    before, after = around(BEFORE, edit("line1\n", "", 1))
    assert before.split("\n")[1:] == after.split("\n")


@pytest.mark.slow
def test_either_order_solves_the_one_task_of_three_that_a_small_edit_mends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pool_folder() as folder, ChatServer() as server:
        settings = RepoSettings(pool=str(folder))
        world = bound(settings)
        bench = Bench(world, settings, world.make_tasks({}, 7, 9))
        asyncio.run(ranks(ModelBot(server.url, "test-model"), bench))
    seen, untried, suspicion, model, _, places = capsys.readouterr().out.splitlines()
    assert seen.startswith("an edit that passes what is seen, among 150: 1 of 3 ")
    assert untried == "  tasks with no time to try all: 0"
    assert suspicion.startswith("  solved by the first 20 by suspicion: 1 of 3 ")
    assert model.startswith("  solved by the first 20 by test-model: 1 of 3 ")
    assert places.startswith("  its place by suspicion, and by test-model: ")
