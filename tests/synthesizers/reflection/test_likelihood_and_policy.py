"""What is measured of kept retries, over a loopback server: how much likelier their guidance made
them, and whether they are off-policy.
"""

import json
from collections import Counter
from math import ceil
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from synth.ledger.ledger import StoredLedger
from synth.ledger.typed import Read
from synth.ledger.views import connect
from synth.schemas.flow import Flow
from synth.synthesizers.reflection.measuring import GAIN, Gain, judged
from tests.flow_files import run_flow
from tests.synth.models.chat_brains import Body, echo_expert
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.reflection.desk import (
    asks_for_reflection,
    details,
    diagnosis,
    guided,
    reflecting_flow,
    stutterer,
)

pytestmark = pytest.mark.slow
TASKS = 8
LESSONS = [f"{'Always ' * (number + 1)}look at what was said." for number in range(40)]


class OneHeeds(ChatServer):
    """Scores a token at -2 nats, at -1 under the lesson of `leaking`, and at -1.5 under any other
    lesson.
    """

    leaking = "never said"
    scorings = 0

    async def _score(self, request: web.Request) -> web.Response:
        prompt = (await request.json())["prompt"]
        text = bytes(token for token in prompt if token < 256).decode()
        self.scorings += 1
        value = -1.0 if f"- {self.leaking}" in text else -1.5 if "keep in mind" in text else -2.0
        scores = [
            {str(token): {"logprob": value, "rank": 1, "decoded_token": ""}} for token in prompt[1:]
        ]
        return web.json_response({"choices": [{"text": "", "prompt_logprobs": [None, *scores]}]})


class Numbered:
    """A lesson of its own for each task that is reflected on."""

    def __init__(self) -> None:
        self.logs: dict[str, str] = {}

    def __call__(self, body: Body) -> str:
        log = body["messages"][1]["content"]
        return diagnosis(improvement_suggestion=self.logs.setdefault(log, LESSONS[len(self.logs)]))


def measured_flow(url: str, tasks: int = TASKS, **retry: Any) -> Flow:
    model = {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0}
    models = {
        "explorer": model,
        "reflector": model,
        "student": {**model, "model": "test-model", "engine": "vllm"},
    }
    return reflecting_flow(
        url,
        {"off_policy_samples": 0, **retry},
        models=models,
        env={"name": "echo", "tasks": tasks, "turns": 3},
    )


def scored(ledger: StoredLedger, metric: str) -> list[tuple[str, float | None, dict[str, Any]]]:
    with connect(ledger) as connection:
        sql = "SELECT subject_id, value, detail FROM scores WHERE metric = ? ORDER BY subject_id"
        return [
            (subject, value, json.loads(detail))
            for subject, value, detail in connection.execute(sql, [metric]).fetchall()
        ]


def decided(ledger: StoredLedger) -> dict[str, tuple[bool | None, str]]:
    with connect(ledger) as connection:
        rows = connection.execute(
            "SELECT trajectory_id, keep, reason FROM decisions WHERE filter = 'likelihood_leak'"
        ).fetchall()
    return {identity: (keep, reason) for identity, keep, reason in rows}


def test_a_retry_whose_own_lesson_makes_it_likelier_than_those_of_other_tasks_is_rejected(
    tmp_path: Path,
) -> None:
    """Under a lesson the transcript is .5 nats a token likelier, under the leaking one 1.0; the
    limit is the 95th percentile of all.
    """
    with OneHeeds(stutterer(Numbered())) as server:
        server.leaking = LESSONS[0]
        run, reports, _ = run_flow(measured_flow(server.url), str(tmp_path / "run"))
        scorings = server.scorings
    report, gains = reports["reflect_retry"], scored(run.ledger, "guidance_gain")
    retries = report["attempted"]
    own = {subject: value for subject, value, _ in gains}
    assert retries >= 6
    assert Counter(own.values()) == {0.5: retries - 1, 1.0: 1}
    shuffled = sorted(gain for *_, detail in gains for gain in detail["shuffled"])
    assert len(shuffled) == 4 * retries
    limit = shuffled[ceil(0.95 * len(shuffled)) - 1]
    rejected = {subject for subject, value in own.items() if value is not None and value > limit}
    assert decided(run.ledger) == {
        s: (False, "likelier_under_guidance") if s in rejected else (True, "clean") for s in own
    }
    assert report["verified"] == retries - len(rejected)
    assert report["rejected"].get("leak:likelihood", 0) == len(rejected)
    assert scorings == sum(detail["scorings"] for *_, detail in gains) == 6 * retries, (
        "the transcript itself once, not once per guidance"
    )
    said = f"likelihood leak: {len(rejected)} of {retries}"
    assert any(line.startswith(said) and f"{scorings} scorings" in line for line in report["also"])


def test_the_limit_decides_over_all_retries_of_the_stage() -> None:
    """Twenty shuffled gains over two rows: nineteen of .5 and one of .9; the 95th percentile is the
    nineteenth, .5.
    """
    rows = [
        Read("clean", GAIN, 0.5, 1, Gain(shuffled=(0.5,) * 10), "key"),
        Read("leaks", GAIN, 0.6, 1, Gain(shuffled=(0.5,) * 9 + (0.9,)), "key"),
        Read("nothing", GAIN, None, 1, Gain(reason="no_effectful_turn"), "key"),
    ]
    assert [(found.trajectory_id, found.keep, found.reason) for found in judged(rows)] == [
        ("clean", True, "clean"),
        ("leaks", False, "likelier_under_guidance"),
        ("nothing", None, "no_effectful_turn"),
    ]


def test_too_few_other_tasks_leave_it_undefined_and_keep_the_row(tmp_path: Path) -> None:
    with OneHeeds(stutterer(Numbered())) as server:
        run, reports, _ = run_flow(measured_flow(server.url, tasks=2), str(tmp_path / "run"))
    assert set(decided(run.ledger).values()) == {(None, "fewer_than_20_shuffled")}
    assert reports["reflect_retry"]["verified"] == 2


def test_without_a_scoring_model_it_is_said_once_and_every_row_is_undefined(tmp_path: Path) -> None:
    with ChatServer(stutterer()) as server:
        run, reports, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "run"))
    assert set(decided(run.ledger).values()) == {(None, "no_scoring_model")}
    (line,) = [line for line in reports["reflect_retry"]["also"] if "likelihood" in line]
    assert line.endswith(
        "(no_scoring_model; name one as role `student`, with engine vllm or transformers)"
    )


def test_a_student_that_fails_is_no_verdict(tmp_path: Path) -> None:
    with ChatServer() as gone:
        pass
    with ChatServer(stutterer()) as server:
        flow = measured_flow(server.url, tasks=2)
        models = {**flow.models, "student": {**flow.models["student"], "base_url": gone.url}}
        run, reports, _ = run_flow(
            flow.model_copy(update={"models": models}), str(tmp_path / "run")
        )
    assert set(decided(run.ledger).values()) == {(None, "fault:judge")}
    assert reports["reflect_retry"]["verified"] == 2


def wavering(body: Body) -> dict[str, Any]:
    """Unguided it stutters, but for every fourth request with a seed of its own; reflects as
    always.
    """
    if asks_for_reflection(body) or guided(body) or body["seed"] % 4 == 0:
        return stutterer()(body) if asks_for_reflection(body) else echo_expert(body)
    return stutterer()(body)


def seeded_flow(url: str, **changes: Any) -> Flow:
    model = {"model": "test", "base_url": url, "timeout_s": 5, "max_retries": 0, "seed": 5}
    env = {"name": "echo", "tasks": 6, "turns": 3}
    return reflecting_flow(
        url, {"attempts": 1}, models={"explorer": model, "reflector": model}, env=env, **changes
    )


def test_a_retry_that_the_unguided_policy_never_begins_so_is_tagged_off_policy_by_counted_samples(
    tmp_path: Path,
) -> None:
    with ChatServer(wavering) as server:
        run, reports, _ = run_flow(seeded_flow(server.url), str(tmp_path / "run"))
    tags = scored(run.ledger, "off_policy_pivot")
    with connect(run.ledger) as connection:
        sql = (
            "SELECT subject_id, count(*) FROM replies WHERE purpose = 'off_policy' AND role = "
            "'explorer' GROUP BY ALL"
        )
        asked = dict(connection.execute(sql).fetchall())
    assert len(tags) == reports["reflect_retry"]["verified"] > 2
    assert {value for _, value, _ in tags} <= {0.0, 1.0}
    assert 0.0 in {value for _, value, _ in tags}
    for subject, value, detail in tags:
        assert detail["samples"] == asked[subject] <= 8
        assert value == 0.0 or detail["samples"] == 8, (
            "only eight that all do otherwise make it off-policy"
        )
    off = sum(value == 1.0 for _, value, _ in tags)
    said = (
        f"off-policy at the pivot: {off} of {len(tags)} kept retries ({sum(asked.values())} "
        "samples of the unguided policy)"
    )
    assert said in reports["reflect_retry"]["also"]


def test_a_policy_that_never_says_it_unguided_makes_every_kept_retry_off_policy(
    tmp_path: Path,
) -> None:
    with ChatServer(stutterer()) as server:
        run, _, _ = run_flow(reflecting_flow(server.url), str(tmp_path / "run"))
    assert [
        (value, detail["samples"], detail["method"])
        for _, value, detail in scored(run.ledger, "off_policy_pivot")
    ] == [(1.0, 8, "sampled")] * 2


def test_asked_for_no_samples_it_asks_for_none(tmp_path: Path) -> None:
    with ChatServer(stutterer()) as server:
        run, _, _ = run_flow(
            reflecting_flow(server.url, {"off_policy_samples": 0}), str(tmp_path / "run")
        )
    assert {
        (value, detail["reason"]) for _, value, detail in scored(run.ledger, "off_policy_pivot")
    } == {(None, "not_measured")}
    with connect(run.ledger) as connection:
        assert connection.execute(
            "SELECT count(*) FROM replies WHERE purpose = 'off_policy'"
        ).fetchone() == (0,)


def test_a_deterministic_policy_is_asked_nothing_its_own_trial_says_what_it_does_unguided(
    tmp_path: Path,
) -> None:
    models = {"explorer": {"policy": "expert", "profiles": "first_match"}}
    env = {"name": "storefront", "tasks": 12}
    run, reports, _ = run_flow(
        reflecting_flow("", {}, models=models, env=env), str(tmp_path / "run")
    )
    tags = scored(run.ledger, "off_policy_pivot")
    assert len(tags) == reports["reflect_retry"]["verified"] > 0
    assert {detail["method"] for *_, detail in tags} == {"deterministic"}
    by_id = {t.trajectory_id: t for t in run.ledger.trajectories()}
    for subject, value, _ in tags:
        retry = by_id[subject]
        own, before = (t.turns[retry.pivot_turn] for t in (retry, by_id[retry.parent_id]))
        same = [(c.name, c.arguments) for c in own.tool_calls] == [
            (c.name, c.arguments) for c in before.tool_calls
        ]
        assert value == (0.0 if same else 1.0)


def test_stopped_by_a_ceiling_under_way_and_run_again_nothing_is_asked_twice(
    tmp_path: Path,
) -> None:
    with ChatServer(wavering) as server:
        whole = run_flow(seeded_flow(server.url), str(tmp_path / "whole"))[0].budget.tokens
        once = Counter(server.counts()["by_hash"])
    for share in (0.6, 0.8, 0.95):
        url = str(tmp_path / f"run {share}")
        with ChatServer(wavering) as server:
            run, _, _ = run_flow(seeded_flow(server.url, max_tokens=int(share * whole)), url)
            assert run.stopped is not None
            run, reports, _ = run_flow(seeded_flow(server.url), url)
            assert Counter(server.counts()["by_hash"]) == once
        assert len(scored(run.ledger, "off_policy_pivot")) == reports["reflect_retry"]["verified"]
        assert all(found["measured"] for found in details(run.ledger, "reflect_retry"))
