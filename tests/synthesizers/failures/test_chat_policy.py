"""The stage with a chat model: errors of its own, mistakes written by a role, faults planted in
what it reads; nothing is asked twice.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from synth.ledger.ledger import StoredLedger
from synth.schemas.flow import Flow
from synth.synthesizers.failures.mistakes.observation_faults import ERROR_TEXT
from tests.rounds import rounds
from tests.synth.models.chat_brains import Body, Brain, called, echo_expert
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.failures.flows_of_failures import asked, injected, injection_flow, scores

pytestmark = pytest.mark.slow

ECHO = {"name": "echo", "tasks": 2, "turns": 3}
STOPS_EARLY = json.dumps(
    {
        "content": None,
        "tool_calls": [{"name": "finish", "arguments": {}}],
        "description": "finishes at once",
    }
)


def is_injector(body: Body) -> bool:
    return str(body["messages"][0]["content"]).startswith("You change one turn")


def brain(
    injector: Callable[[Body], str] = lambda body: STOPS_EARLY, player: Brain = echo_expert
) -> Brain:
    """Plays echo; hot, it finishes at once; asked as injector it says what it is told to."""

    def replies(body: Body) -> dict[str, Any]:
        if is_injector(body):
            return {"role": "assistant", "content": injector(body)}
        if body.get("temperature", 0) > 1:
            return called("finish", {})
        return player(body)

    return replies


def re_reading(body: Body) -> dict[str, Any]:
    """Plays echo, and calls a tool again that seems to have failed."""
    last = body["messages"][-1]
    if last["role"] == "tool" and last["content"] == ERROR_TEXT:
        call = body["messages"][-2]["tool_calls"][0]["function"]
        return called(call["name"], call["arguments"], f"again_{len(body['messages'])}")
    return echo_expert(body)


def chat_flow(
    url: str,
    stage: Mapping[str, Any],
    *,
    injector: bool = False,
    corrector: bool = False,
    **changes: Any,
) -> Flow:
    model = {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0}
    models = {
        "explorer": model,
        **({"injector": model} if injector else {}),
        **({"corrector": model} if corrector else {}),
    }
    return injection_flow({"controls": 0, **stage}, env=ECHO, models=models, **changes)


def test_an_error_of_the_models_own_is_sampled_hot_and_preferred_for_training_rows(
    tmp_path: Path,
) -> None:
    with ChatServer(brain()) as server:
        report = injected(
            tmp_path / "run", chat_flow(server.url, {"per_task": 2, "strategies": {"natural": 1}})
        )
        hot = [body for body in server.bodies if body.get("temperature", 0) > 1]
    assert (
        report["verified"] + report["rejected"].get("no_natural_error", 0)
        == report["attempted"]
        == 4
    )
    assert report["verified"] >= 2
    assert {body["temperature"] for body in hot} == {1.3}
    for row in scores(tmp_path / "run", "injection"):
        assert (row["detail"]["strategy"], row["detail"]["mode"], row["detail"]["preferred"]) == (
            "natural",
            "natural",
            True,
        )
        turn = StoredLedger(str(tmp_path / "run")).trajectory(row["subject_id"]).turns[row["turn"]]
        assert (turn.injected, turn.sampled_by, turn.mask) == ("natural", "policy", "injected")
        assert (row["detail"]["method"], row["detail"]["n_pos"], row["detail"]["n_neg"]) == (
            "sequential",
            4,
            4,
        )


def test_a_mistake_written_by_the_role_is_put_and_tested_like_any_other(tmp_path: Path) -> None:
    with ChatServer(brain()) as server:
        report = injected(
            tmp_path / "run",
            chat_flow(server.url, {"per_task": 1, "strategies": {"role": 1}}, injector=True),
        )
        questions = [body for body in server.bodies if is_injector(body)]
    assert report["verified"] >= 1
    assert report["verified"] + report["rejected"].get("unreadable", 0) == 2
    assert {body["temperature"] for body in questions} == {0.7}
    assert all("Its tools:\necho" in body["messages"][1]["content"] for body in questions)
    for row in scores(tmp_path / "run", "injection"):
        assert (row["detail"]["strategy"], row["detail"]["description"]) == (
            "role",
            "finishes at once",
        )
    replies = asked(tmp_path / "run", "SELECT purpose, role FROM replies")
    assert set(replies) == {("inject", "injector")}


@pytest.mark.parametrize(
    "bad",
    ["", "No.", '{"content": null, "description": "x"}', STOPS_EARLY.replace("finish", "vanish")],
)
def test_a_role_that_writes_nothing_of_use_gives_a_reason_and_no_injected_run(
    tmp_path: Path, bad: str
) -> None:
    with ChatServer(brain(lambda body: bad)) as server:
        report = injected(
            tmp_path / "run",
            chat_flow(server.url, {"per_task": 1, "strategies": {"role": 1}}, injector=True),
        )
        questions = sum(is_injector(body) for body in server.bodies)
    assert report["rejected"] == {"unreadable": 2}
    assert questions == 6, "three tries each"
    assert asked(
        tmp_path / "run",
        "SELECT count(*) FROM trajectories_all WHERE synthesizer = 'failure_injection'",
    ) == [(0,)]


def test_a_role_that_repeats_the_recorded_turn_never_makes_a_label(tmp_path: Path) -> None:
    def recorded(body: Body) -> str:
        turn = json.loads(body["messages"][1]["content"].rpartition("The recorded turn:\n")[2])
        return json.dumps({**turn, "description": "nothing"})

    with ChatServer(brain(recorded)) as server:
        report = injected(
            tmp_path / "run",
            chat_flow(server.url, {"per_task": 1, "strategies": {"role": 1}}, injector=True),
        )
    assert report["rejected"] == {"unreadable": 2}
    assert scores(tmp_path / "run", "injection") == []


def test_a_server_that_fails_the_role_is_a_fault_and_a_rerun_makes_the_attempt(
    tmp_path: Path,
) -> None:
    with ChatServer(brain()) as server:
        flow = chat_flow(server.url, {"per_task": 1, "strategies": {"role": 1}}, injector=True)
        injected(tmp_path / "run", _only_rollout(flow))
        planned = json.dumps([{"kind": "status", "status": 500}] * 2).encode()
        urlopen(Request(f"http://127.0.0.1:{server.port}/mishaps", planned), timeout=5).close()
        report = injected(tmp_path / "run", flow)
        assert set(report["rejected"]) <= {"fault:judge"}
        assert report["rejected"]["fault:judge"] == 2
        assert scores(tmp_path / "run", "injection") == []
        assert "2 attempts left to a rerun" in report["also"]
        again = injected(tmp_path / "run", flow)
    assert again["attempted"] == 2
    assert again["verified"] >= 1
    assert "fault:judge" not in again["rejected"]


ENVIRONMENT = {"per_task": 2, "strategies": {"environment": 1}}


def test_a_fault_of_the_world_is_no_mistake_of_the_agent_and_its_reaction_is_labelled(
    tmp_path: Path,
) -> None:
    with ChatServer(brain(player=re_reading)) as server:
        report = injected(tmp_path / "run", chat_flow(server.url, ENVIRONMENT))
    assert report["modes"] == {}, "the mix is one of the agent's mistakes"
    assert scores(tmp_path / "run", "injection") == []
    faults, recoveries = (
        scores(tmp_path / "run", "observation_fault"),
        scores(tmp_path / "run", "recovery"),
    )
    assert len(faults) + len(recoveries) == 4
    for row in [*faults, *recoveries]:
        detail = row["detail"]
        assert (
            detail["side"],
            detail["mistake_agent"],
            detail["mistake_step"],
            detail["injected"],
        ) == ("environment", None, None, None)
        assert detail["reaction"]["kind"] == (
            "re_reads" if detail["mode"] == "tool_error" and row in faults else "proceeds"
        )
        turn = StoredLedger(str(tmp_path / "run")).trajectory(row["subject_id"]).turns[row["turn"]]
        assert turn.injected == f"environment:{detail['mode']}"
        assert [o.planted is not None for o in turn.observations] == [True]


def test_a_word_said_twice_because_the_tool_seemed_to_fail_is_confirmed_by_counting(
    tmp_path: Path,
) -> None:
    with ChatServer(brain(player=re_reading)) as server:
        injected(tmp_path / "run", chat_flow(server.url, {**ENVIRONMENT, "per_task": 6}))
    faults = scores(tmp_path / "run", "observation_fault")
    assert faults
    for row in faults:
        assert (row["value"], row["detail"]["mode"], row["detail"]["reaction"]["kind"]) == (
            1.0,
            "tool_error",
            "re_reads",
        )
        assert (row["detail"]["q_pos"], row["detail"]["q_neg"], row["detail"]["stopped_at"]) == (
            1.0,
            0.0,
            4,
        )


@pytest.mark.parametrize("tokens", rounds(3000, nightly=[200, 1500, 6000]))
def test_stopped_by_a_ceiling_and_run_again_no_question_is_asked_more_often(
    tmp_path: Path, tokens: int
) -> None:
    stage = {"per_task": 2, "strategies": {"natural": 1, "rule": 1}}
    with ChatServer(brain()) as server:
        flow = chat_flow(server.url, stage)
        used = injected_tokens(tmp_path / "run", _only_rollout(flow))
        stopped = flow.model_copy(update={"max_tokens": used + tokens})
        injected(tmp_path / "run", stopped)
        half = server.counts()["total"]
        injected(tmp_path / "run", flow)
        interrupted = Counter(server.counts()["by_hash"])
    with ChatServer(brain()) as server:
        injected(tmp_path / "whole", chat_flow(server.url, stage))
        whole = Counter(server.counts()["by_hash"])
    assert 16 <= half < sum(whole.values())
    assert interrupted == whole
    paid = [
        asked(tmp_path / name, "SELECT count(*), sum(model_calls) FROM replies_all")
        for name in ("run", "whole")
    ]
    assert paid[0] == paid[1], "a reply that was given before the ceiling is paid for once"


def _only_rollout(flow: Flow) -> Flow:
    """The flow with a stage that does nothing yet."""
    nothing = flow.stages[1].model_copy(update={"settings": {"per_task": 0}})
    return flow.model_copy(update={"stages": (flow.stages[0], nothing)})


def injected_tokens(folder: Path, flow: Flow) -> int:
    """Tokens that the rollout alone has used."""
    injected(folder, flow)
    ((tokens,),) = asked(
        folder, "SELECT sum(prompt_tokens + completion_tokens) FROM trajectories_all"
    )
    return int(tokens)
