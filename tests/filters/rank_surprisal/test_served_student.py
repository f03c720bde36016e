"""A served student whose probabilities are known: ratios to the digit, a server that dies, and what
was scored before it did.
"""

import asyncio
import json
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.engine.progress import PlainProgress
from synth.flows.curate import curate
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.views import connect
from synth.schemas.errors import SynthError
from synth.schemas.flow import Flow
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Authorship, Trajectory
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.chat_tokens import logprob, rank, written
from tests.trajectories import make_trajectory

pytestmark = pytest.mark.slow


def flow(server: ChatServer, **settings: Any) -> Flow:
    student = {
        "engine": "vllm",
        "model": "test-model",
        "base_url": server.url,
        "max_in_flight": 2,
        "max_retries": 0,
        "total_timeout_s": 5,
    }
    stages = [{"filter": [{"rank_surprisal": settings}]}]
    return Flow.model_validate(
        {"name": "served", "seed": 1, "models": {"student": student}, "stages": stages}
    )


def ledger(tmp_path: Path, count: int) -> str:
    made = StoredLedger(str(tmp_path / "run"), create=True)
    played = [
        make_trajectory(f"s{i}", turns=i % 4 + 1, task_id=f"t{i % 3}", authorship=Authorship.MODEL)
        for i in range(count)
    ]
    made.commit(StageRef("import", "k"), trajectories=played)
    made.begin_stage(StageLine("import", "k", {}, ""))
    return made.storage.url


def curated(url: str, server: ChatServer, said: StringIO | None = None, **settings: Any) -> Any:
    return asyncio.run(curate(flow(server, **settings), url, PlainProgress(said or StringIO())))[0]


def measures(url: str, metric: str) -> dict[str, tuple[float, Any]]:
    with connect(StoredLedger(url)) as connection:
        rows = connection.execute(
            "SELECT subject_id, value, detail FROM scores WHERE metric = ? AND value IS NOT NULL",
            [metric],
        ).fetchall()
    assert len({subject for subject, *_ in rows}) == len(rows), "each was kept once"
    return {
        subject: (value, json.loads(detail) if detail else {}) for subject, value, detail in rows
    }


def by_hand(trajectory: Trajectory) -> float:
    said = [
        written(message) for message in to_messages(trajectory) if message["role"] == "assistant"
    ]
    letters = [letter for turn in said for letter in turn]
    return sum(map(rank, letters)) / -sum(map(logprob, letters))


def test_the_ratio_is_that_of_the_servers_own_ranks_and_probabilities(tmp_path: Path) -> None:
    url = ledger(tmp_path, 4)
    with ChatServer(root="/weights") as server:
        run = curated(url, server)
    found = measures(url, "rsr")
    for trajectory in run.ledger.trajectories():
        value, detail = found[trajectory.trajectory_id]
        assert value == pytest.approx(by_hand(trajectory), rel=1e-12)
        assert (detail["student"], detail["weights_id"], detail["max_rank"]) == (
            "test-model",
            "/weights",
            100,
        )
    assert set(measures(url, "rsr_decision")) == set(found)


def test_a_server_that_dies_loses_nothing_and_the_same_command_goes_on(tmp_path: Path) -> None:
    url = ledger(tmp_path, 12)
    with ChatServer() as server:
        server.dies_after = 5
        with pytest.raises(
            SynthError, match=r"what was scored is kept|refused|lost|connection"
        ) as caught:
            curated(url, server)
        assert "\n" not in str(caught.value)
        assert len(measures(url, "rsr")) == server.scored == 5
        with connect(StoredLedger(url)) as connection:
            assert connection.execute("SELECT count(*) FROM decisions_all").fetchall() == [(0,)]
        server.dies_after = None
        curated(url, server)
        assert server.scored == 12, "none was scored twice"
    assert len(measures(url, "rsr")) == 12


def test_other_thresholds_ask_the_server_nothing_and_another_cap_asks_again(tmp_path: Path) -> None:
    url = ledger(tmp_path, 6)
    with ChatServer() as server:
        curated(url, server)
        curated(url, server, select=True, errors=1, least_candidates=2, solved_first=False)
        assert server.scored == 6
        curated(url, server, max_rank=5)
        assert server.scored == 12
    value = measures(url, "avg_rank_clip")
    assert all(1 <= one <= 5 for one, _ in value.values())


def test_a_server_that_hides_the_tools_scores_nothing_and_a_long_text_is_told_and_not_cut(
    tmp_path: Path,
) -> None:
    url = ledger(tmp_path, 4)
    with ChatServer() as server:
        server.context = 600
        run = curated(url, server)
        with connect(run.ledger) as connection:
            found = dict(
                connection.execute("SELECT reason, count(*) FROM decisions GROUP BY 1").fetchall()
            )
        assert found["too_long"] + found["scored"] == 4
        server.renders_tools = False
        url = ledger(tmp_path / "other", 2)
        run = curated(url, server)
    with connect(run.ledger) as connection:
        assert connection.execute("SELECT DISTINCT keep, reason FROM decisions").fetchall() == [
            (None, "tools_not_rendered")
        ]
    assert msgspec.structs.asdict(next(iter(run.ledger.trajectories())))["tools"]


def test_a_student_whose_card_cannot_be_read_is_told_of_once_and_one_with_a_card_is_not(
    tmp_path: Path,
) -> None:
    url, said = ledger(tmp_path, 6), StringIO()
    with ChatServer() as server:
        curated(url, server, said)
        line = (
            "whether test-model was trained on this run's rows is not known: it has no card "
            "here, name its model card as `card`"
        )
        assert said.getvalue().count(line) == 1
        card, said = tmp_path / "card.md", StringIO()
        card.write_text("trained on nothing of yours")
        curated(ledger(tmp_path / "other", 6), server, said, card=str(card))
    assert "is not known" not in said.getvalue()


def test_a_run_on_an_object_store_says_that_it_cannot_look(tmp_path: Path) -> None:
    (tmp_path / "card.md").write_text("no hash")
    made = StoredLedger("memory://served/run", create=True)
    made.commit(
        StageRef("import", "k"), trajectories=[make_trajectory("s0", authorship=Authorship.MODEL)]
    )
    made.begin_stage(StageLine("import", "k", {}, ""))
    said = StringIO()
    with ChatServer() as server:
        curated(made.storage.url, server, said, card=str(tmp_path / "card.md"))
    assert (
        said.getvalue().count("is not known: the run lies on an object store, look yourself") == 1
    )
