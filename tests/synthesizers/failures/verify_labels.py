"""Verifies confirmed injection labels from the ledger and the world alone: `python -m
tests.synthesizers.failures.verify_labels RUN`.

It shares no code with what makes the labels: sides are executed again in fresh worlds, successes
recounted, the sequential rule (rounds
of 2 per side up to 8; accept at a lead of 4 after 4, of 5 after 6 or 8; stop at a lead of 0, 1, 2,
4) decided anew.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec

from synth.flows.environments import open_env
from synth.ledger.ledger import StoredLedger
from synth.ledger.tables import rows
from synth.schemas.environment import AgentTurn
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory, Turn

Row = dict[str, Any]


class Labelled:
    """All that a ledger holds that labels stand on."""

    def __init__(self, ledger: StoredLedger) -> None:
        self.trajectories: dict[str, Trajectory] = {}
        self.labels: list[Row] = []
        for shard in ledger.state.shards:
            if "trajectories" in shard.files:
                tables = (
                    ledger.files.table(shard.files[name]) for name in ("trajectories", "turns")
                )
                self.trajectories |= {
                    trajectory.trajectory_id: trajectory
                    for trajectory in rows.trajectories_of(*tables)
                }
            if "labels" in shard.files:
                for row in ledger.files.table(shard.files["labels"]).to_pylist():
                    if (
                        row["metric"] in ("injection", "observation_fault", "repair")
                        and row["value"] == 1
                    ):
                        self.labels.append({**row, "detail": json.loads(row["detail"])})
        self.tasks = ledger.tasks(
            {trajectory.task_id for trajectory in self.trajectories.values()}, every=True
        )


async def problems(found: Labelled, row: Row) -> list[str]:
    """What is wrong with a label; nothing where it stands."""
    return [problem async for problem in _problems(found, row)]


async def _problems(found: Labelled, row: Row) -> AsyncIterator[str]:
    detail, at = row["detail"], row["turn"]
    run = found.trajectories.get(row["subject_id"])
    twin = run if row["metric"] == "repair" else found.trajectories.get(detail.get("clean_twin_id"))
    if run is None or twin is None:
        yield "the run or its clean twin is not in the ledger"
        return
    task = found.tasks[run.task_id]
    if run.outcome != "failure" or await _executed(task, run) is not False:
        yield f"the run is a {run.outcome}, or does not fail when it is executed again"
    if row["metric"] == "repair":
        good, bad = detail["correction"], detail["original"]
    else:
        good, bad = detail["original"], detail["injected"] or detail["original"]
        for problem in _of_injection(run, twin, row):
            yield problem
    if good == bad and row["metric"] != "observation_fault":
        yield "what was put is what was there"
    counted = [*detail["pos_ids"], *detail["neg_ids"]]
    if {run.trajectory_id, twin.trajectory_id} & {*counted} or len({*counted}) < len(counted):
        yield "a run is counted that selected the step, or twice"
    successes: list[list[bool]] = []
    for ids, act in ((detail["pos_ids"], good), (detail["neg_ids"], bad)):
        passed = []
        for identity in ids:
            one = found.trajectories.get(identity)
            if one is None:
                yield f"continuation {identity} is not in the ledger"
                return
            for problem in _branched(one, twin, at, act):
                yield f"continuation {identity}: {problem}"
            verdict = await _executed(task, one)
            if verdict is not (one.outcome == "success"):
                yield f"continuation {identity}: stored as {one.outcome}, executed again: {verdict}"
            passed.append(one.outcome == "success")
        successes.append(passed)
    for problem in _decision(detail, *successes):
        yield problem


def _of_injection(run: Trajectory, twin: Trajectory, row: Row) -> Iterator[str]:
    detail, at, agent = row["detail"], row["turn"], row["metric"] == "injection"
    if twin.outcome != "success":
        yield f"the twin is a {twin.outcome}"
    yield from _branched(run, twin, at, detail["injected"] if agent else detail["original"])
    yield from _marked(run, at, detail, agent)
    if not _effect(twin.turns[at], run.turns[at]):
        yield "the injected turn has no effect of its own"
    if agent and _act(detail["injected"]) == _act(detail["original"]):
        yield "what was injected is what was there"


def _decision(detail: Row, good: list[bool], bad: list[bool]) -> Iterator[str]:
    if (len(good), len(bad)) != (detail["n_pos"], detail["n_neg"]):
        yield "the counts are not those of the continuations"
    if (sum(good) / len(good), sum(bad) / len(bad)) != (detail["q_pos"], detail["q_neg"]):
        yield "the rates are not those of the continuations"
    if detail["method"] == "flip_deterministic":
        if (good, bad) != ([True], [False]):
            yield "the flip is none"
        return
    if detail["invalid"]:
        lead = sum(good) - (sum(bad) + detail["stopped_at"] - len(bad))
        if lead < {4: 4, 6: 5, 8: 5}.get(detail["stopped_at"], 99):
            yield "with what faults took counted against it, the test does not accept"
        return
    ended = _sequential(good, bad)
    if ended != ("accept", detail["stopped_at"]) or len(good) != detail["stopped_at"]:
        yield f"the sequential test says {ended}"


def _sequential(good: list[bool], bad: list[bool]) -> tuple[str, int]:
    for looked, accept, stop in ((2, 3, 0), (4, 4, 1), (6, 5, 2), (8, 5, 4)):
        lead = sum(good[:looked]) - sum(bad[:looked])
        if lead >= accept:
            return "accept", looked
        if lead <= stop or looked >= len(good):
            return "stop", looked
    return "stop", 8


def _branched(run: Trajectory, twin: Trajectory, at: int, put: Row) -> Iterator[str]:
    if (run.parent_id, run.pivot_turn, run.task_id) != (twin.trajectory_id, at, twin.task_id):
        yield "it does not branch from the twin at the turn"
        return
    for ours, theirs in zip(run.turns[:at], twin.turns[:at], strict=True):
        if (ours.content, ours.tool_calls, ours.observations) != (
            theirs.content,
            theirs.tool_calls,
            theirs.observations,
        ):
            yield f"turn {ours.index} before the branch is another one"
        if ours.mask is None:
            yield f"turn {ours.index} before the branch would be trained on"
    turn = run.turns[at]
    if _act(msgspec.to_builtins(AgentTurn(turn.content, turn.tool_calls))) != _act(put):
        yield "another act stands at the turn"


def _marked(run: Trajectory, at: int, detail: Row, agent: bool) -> Iterator[str]:
    turn = run.turns[at]
    if (
        turn.injected is None
        or turn.mask is None
        or (turn.sampled_by == "policy" and detail["strategy"] != "natural" and agent)
    ):
        yield "the injected turn is not marked as such"
    if agent is (detail["mistake_agent"] is None) or detail["side"] != (
        "agent" if agent else "environment"
    ):
        yield "the side is wrong"
    if detail["dpo"] or detail["earliest_tested"]:
        yield "it claims what was not measured"


def _effect(clean: Turn, injected: Turn) -> bool:
    shown = [[(o.content, o.error) for o in turn.observations] for turn in (clean, injected)]
    return shown[0] != shown[1] or clean.state_key != injected.state_key


def _act(put: Row) -> object:
    calls = [(call["name"], json.loads(call["arguments"])) for call in put.get("tool_calls") or ()]
    return put.get("content") or None, calls


async def _executed(task: Task, run: Trajectory) -> bool | None:
    """What the world's check says when the turns are done again; None where the world answers
    otherwise than recorded.
    """
    env = open_env(task.env, task.env_config)
    try:
        await env.reset(task)
        for turn in run.turns:
            if turn.sampled_by == "canned":
                continue
            response = await env.step(AgentTurn(turn.content, turn.tool_calls, turn.thought))
            given = [(o.as_given().content, o.as_given().error) for o in turn.observations]
            if [(o.content, o.error) for o in response.observations] != given:
                return None
        return (await env.check()).passed
    finally:
        await env.close()


async def verified(url: str) -> tuple[Labelled, dict[str, list[str]]]:
    """All confirmed labels, and what is wrong with each that is wrong."""
    found = Labelled(StoredLedger(url))
    wrong = {row["subject_id"]: await problems(found, row) for row in found.labels}
    return found, {identity: lines for identity, lines in wrong.items() if lines}


if __name__ == "__main__":
    labelled, wrong = asyncio.run(verified(sys.argv[1]))
    modes = sorted({row["detail"].get("mode", "repair") for row in labelled.labels})
    print(
        f"{len(labelled.labels)} confirmed labels over {len(modes)} modes ({', '.join(modes)}), "
        f"{len(wrong)} of them wrong"
    )
    for identity, lines in wrong.items():
        print(f"{identity}: {'; '.join(lines)}")
    sys.exit(1 if wrong or not labelled.labels else 0)
