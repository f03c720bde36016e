"""Bad input of every kind: each filter gives every trajectory a verdict, or the run ends with one
line; never a traceback.
"""

import asyncio
import json
import time
from collections.abc import Mapping
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
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.trajectory import Authorship, Observation, Source, ToolCall, Trajectory, Turn
from tests.rounds import rounds
from tests.synth.models.chat_server import ChatServer
from tests.trajectories import make_fault, make_trajectory

pytestmark = pytest.mark.slow
MIB = 2**20
WITHOUT_MODEL: dict[str, Mapping[str, Any]] = {
    "solved": {},
    "attribution": {"truncated": True},
    "reexecuted": {},
    "leaks": {},
    "secrets": {},
    "provenance": {},
    "signals": {"corrected": True},
    "efficiency": {"max_overhead": 1.5},
    "waste": {"max_share": 0.1},
    "duplicates": {"copied_turns": 0.5, "turn_similarity": 0.8},
    "contamination": {},
    "split": {"by": ["world", "template", "entities", "policy", "task"]},
    "pdi": {},
}
WITH_MODEL: dict[str, Mapping[str, Any]] = {
    "rubric": {"rubric": "fintrace"},
    "rank_surprisal": {"select": True},
}


def turn(
    index: int, content: str | None, arguments: str, answer: str, name: str = "modify_order"
) -> Turn:
    call = ToolCall.received(f"c{index}", name, arguments)
    return Turn(
        index,
        content=content,
        tool_calls=(call,),
        observations=(Observation(answer, Source.TOOL, f"c{index}", name),),
    )


def odd() -> list[Trajectory]:
    """Everything that a source may have left in a transcript; their tasks are in no ledger."""
    deep = "[" * 5000 + "]" * 5000
    texts = {
        "empty": [turn(0, "", "", "")],
        "nothing": [],
        "surrogate": [turn(0, "a\ud800b", '{"x": "\\ud800"}', "\udfff")],
        "control": [turn(0, "\x00\x1b[2J\x7f\u2028", '{"x": "\\u0000"}', "\x00")],
        "deep": [turn(0, deep, deep, deep), turn(1, deep, deep, deep)],
        "no_json": [turn(0, "{", "{'order': O-1}", "{"), turn(1, "]", "[1, 2", "<xml>")],
        "numbers": [
            turn(
                0,
                "1e999",
                '{"x": 1e999, "y": NaN, "z": -0.0}',
                '{"x": Infinity, "n": 123456789012345678901234567890}',
            )
        ],
        "words": [turn(0, "refund " * (5 * MIB // 7), '{"order_id": "O-1"}', "ok")],
        "digits": [turn(0, "4" * 2 * MIB, json.dumps({"x": "4" * MIB}), "4" * 2 * MIB)],
        "letters": [turn(0, "x", '{"order_id": "O-1"}', "a" * 5 * MIB)],
        "escapes": [turn(0, "\\" * MIB, json.dumps({"x": "\\" * 1000}), "%25" * 100_000)],
        "scripts": [turn(0, "客户要求退款" * 5000, '{"名": "客"}', "👩‍👩‍👧" * 5000)],
        "twin_calls": [turn(0, "a", '{"x": 1, "x": 2}', "a"), turn(0, "a", '{"x": 1}', "a")],
    }
    made = []
    for name, turns in texts.items():
        bare = make_trajectory(
            name, turns=0, task_id=f"gone {name}", authorship=Authorship.MODEL, synthesizer="import"
        )
        made.append(
            msgspec.structs.replace(
                bare, turns=tuple(turns), system_prompt="\ud83d" if name == "surrogate" else None
            )
        )
    failed = {"outcome": Outcome.FAILURE, "reward": 0.0}
    truncated = {"outcome": Outcome.TRUNCATED, "termination": Termination.TURN_LIMIT}
    unknown = {"outcome": Outcome.UNKNOWN, "reward": None, "check_result": None, "tools": ()}
    made += [
        make_trajectory(f"odd {at}", **kind) for at, kind in enumerate((failed, truncated, unknown))
    ]
    made += [
        make_trajectory(f"reward {at}", reward=value)
        for at, value in enumerate((float("nan"), float("inf"), -1e308))
    ]
    return [*made, make_trajectory("orphan", parent_id="nobody", pivot_turn=99)]


LEDGERS = {
    "empty": lambda: [],
    "only_invalid": lambda: [make_fault("broken"), make_fault("broken too")],
    "one": lambda: [make_trajectory("one", authorship=Authorship.MODEL)],
    "odd": odd,
    "odd_small": lambda: [one for one in odd() if sum(map(len, map(repr, one.turns))) < MIB],
}


def ledger(folder: Path, kind: str) -> str:
    made = StoredLedger(str(folder / "run"), create=True)
    rows = LEDGERS[kind]()
    if rows:
        made.commit(StageRef("import", "k"), trajectories=rows)
    made.begin_stage(StageLine("import", "k", {}, ""))
    return made.storage.url


def judged(
    url: str, name: str, settings: Mapping[str, Any], models: Mapping[str, Any]
) -> dict[str, str] | str:
    """trajectory -> reason, of every valid one; or the one line that a user is told."""
    stages = [{"filter": [{name: dict(settings)}]}]
    flow = Flow.model_validate({"name": "odd", "seed": 1, "models": models, "stages": stages})
    try:
        run, _ = asyncio.run(curate(flow, url, PlainProgress(StringIO())))
    except SynthError as error:
        return str(error)
    with connect(run.ledger) as connection:
        rows = connection.execute(
            "SELECT trajectory_id, reason FROM decisions WHERE filter = ?", [name]
        ).fetchall()
    found = dict(rows)
    assert len(found) == len(rows), f"{name}: one verdict each"
    assert set(found) == set(run.ledger.state.current_valid()), name
    assert all(found.values()), f"{name}: each with a reason"
    return found


def all_judged(
    kind: str, url: str, name: str, settings: Mapping[str, Any], models: Mapping[str, Any]
) -> None:
    """All but the one of lone surrogates, which the ledger cannot hold: it is committed as
    invalid.
    """
    began = time.process_time()
    found = judged(url, name, settings, models)
    assert time.process_time() - began < 60, name
    if isinstance(found, str):
        assert kind == "empty", f"{name}: {found}"
        assert "\n" not in found
        return
    assert len(found) == {"only_invalid": 0, "one": 1, "odd": 19, "odd_small": 15}[kind], name


@pytest.mark.parametrize("kind", rounds("empty", "only_invalid", nightly=["one", "odd"]))
def test_every_filter_without_a_model_gives_every_trajectory_a_verdict(
    tmp_path: Path, kind: str
) -> None:
    url = ledger(tmp_path, kind)
    for name, settings in WITHOUT_MODEL.items():
        all_judged(kind, url, name, settings, {})


@pytest.mark.parametrize("kind", ["empty", "only_invalid", "one", "odd_small"])
def test_so_does_every_filter_that_asks_one(tmp_path: Path, kind: str) -> None:
    url = ledger(tmp_path, kind)
    with ChatServer(
        lambda body: {"role": "assistant", "content": '{"reason": 5, "plan": NaN}'}
    ) as server:
        model = {"engine": "vllm", "model": "test-model", "base_url": server.url, "max_retries": 0}
        for name, settings in WITH_MODEL.items():
            all_judged(kind, url, name, settings, {"judge": model, "student": model})


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("solved", {"x": 1}),
    ("secrets", {"find": ["nothing"]}),
    ("secrets", {"find": "secrets"}),
    ("secrets", {"action": "burn"}),
    ("secrets", {"patterns": {"a": "("}}),
    ("secrets", {"patterns": {"a": "(?=x)"}}),
    ("secrets", {"patterns": {"a": ""}}),
    ("secrets", {"allow": [".*"]}),
    ("duplicates", {"similarity": 2}),
    ("duplicates", {"similarity": float("nan")}),
    ("duplicates", {"copied_turns": 0}),
    ("contamination", {"benchmarks": {"m": ["/nowhere/x.jsonl"]}}),
    ("contamination", {"benchmarks": ["a"]}),
    ("contamination", {"n": 1}),
    ("split", {"share": float("nan")}),
    ("split", {"by": []}),
    ("split", {"by": ["moon"]}),
    ("waste", {"max_share": -1}),
    ("signals", {"drop": ["sadness"]}),
    ("signals", {"min_score": 200}),
    ("efficiency", {"max_overhead": 0.5}),
    ("rank_surprisal", {}),
    ("rank_surprisal", {"max_rank": 0}),
    ("rank_surprisal", {"errors": float("inf")}),
    ("pdi", {"drop": True}),
    ("rubric", {}),
    ("rubric", {"rubric": "nothing"}),
    ("rubric", {"samples": 0}),
    ("rubric", {"drop_below": {"moon": 1}}),
    ("attribution", {"by": "all_at_once"}),
    ("provenance", {"choices": "x"}),
    ("reexecuted", {"timeout_s": 0}),
    ("nothing", {}),
    ("os.path:join", {}),
]


def test_settings_that_make_no_sense_are_one_line_each_that_names_the_place(tmp_path: Path) -> None:
    url = ledger(tmp_path, "one")
    for name, settings in REFUSED:
        told = judged(url, name, settings, {})
        assert isinstance(told, str), (name, settings)
        assert "\n" not in told
        assert told.startswith(("stages[0].filter", "benchmarks.m")), told
