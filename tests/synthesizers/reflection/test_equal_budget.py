"""The comparison at equal cost: prices, endpoints and effects worked out by hand, then on
storefront.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from benchmarks.equal_budget import equal_budget_table
from synth.ledger.ledger import StoredLedger
from synth.ledger.storage.journal import JournaledReply, recorded
from synth.ledger.views import connect
from synth.schemas.trajectory import Observation, Source, ToolCall, Turn, Usage
from synth.synthesizers.reflection.chain_rows import CHAIN
from synth.synthesizers.reflection.equal_budget import (
    ARMS,
    FROM_START,
    GUIDED,
    MOST_EPISODES,
    UNGUIDED,
)
from synth.synthesizers.reflection.report import EFFECTS, ROWS, TASKS, RetryUnit, compared, verdict
from synth.synthesizers.reflection.token_cost import (
    ArmResult,
    Prices,
    Tokens,
    tokens_of_attempts,
    tokens_of_reflection,
)
from tests.flow_files import run_flow
from tests.flows.test_killed import kill_at, start
from tests.rounds import rounds
from tests.synth.models.chat_server import ChatServer
from tests.synthesizers.reflection.desk import details, reflecting_flow, stutterer
from tests.trajectories import make_trajectory

pytestmark = pytest.mark.slow

STOCHASTIC = {
    "policy": "mixture",
    "of": [
        {"policy": "expert", "profiles": "mixed", "weight": 9},
        {"policy": "random", "weight": 1},
    ],
}


def test_a_price_is_one_tenth_for_cached_and_four_for_written_tokens() -> None:
    assert Tokens(1000, 500, 30).at(Prices()) == 1000 + 50 + 120


def test_measured_tokens_count_from_the_pivot_on_faulty_attempts_and_the_users_model_included() -> (
    None
):
    turns = tuple(Turn(index, "x", usage=Usage(100, 10, 60, 1)) for index in range(3))
    retry = make_trajectory(turns=0, pivot_turn=1, user_totals=Usage(7, 2, 0, 1))
    retry = msgspec.structs.replace(retry, turns=turns)
    assert tokens_of_attempts([retry, retry]) == Tokens(2 * (40 + 40 + 7), 2 * 120, 2 * (20 + 2), 0)


def test_a_scripted_turn_has_four_characters_a_token_and_its_first_prompt_no_cache() -> None:
    call = ToolCall.received("c", "look", '{"a":1}')  # 4 + 7 characters
    turns = (
        Turn(
            0, "abcd", tool_calls=(call,), observations=(Observation("o" * 10),)
        ),  # 15 written, 10 heard
        Turn(1, "efgh", observations=(Observation("p" * 5),)),
        Turn(2, "ijkl"),
    )
    given: dict[str, Any] = {
        "turns": turns,
        "system_prompt": "s" * 20,
        "tools": (),
        "opening": (Observation("q" * 30, Source.USER),),
    }
    whole = make_trajectory(turns=0)
    whole = msgspec.structs.replace(whole, **given)
    shown = 20 + len("[]") + 30
    assert tokens_of_attempts([whole]) == Tokens(
        (shown + 25 + 9) / 4, (shown + shown + 25) / 4, (15 + 4 + 4) / 4, 3
    )
    retry = msgspec.structs.replace(whole, pivot_turn=2, guidance="g" * 8)
    assert tokens_of_attempts([retry]) == Tokens((shown + 8 + 25 + 9) / 4, 0, 1, 1)


def test_a_reflection_by_rules_is_estimated_as_if_a_model_had_read_the_log() -> None:
    messages = [{"role": "system", "content": "a" * 40}, {"role": "user", "content": "b" * 60}]
    assert tokens_of_reflection(messages, "c" * 20, []) == Tokens(25, 0, 5, 1)


def unit(task: str, solved: bool = False, **arms: tuple[float, int]) -> RetryUnit:
    found = {name: ArmResult(price, kept, 1, 0.0, 0) for name, (price, kept) in arms.items()}
    return RetryUnit(
        task, solved, {name: found.get(name, ArmResult(1000.0, 0, 1, 0.0, 0)) for name in ARMS}
    )


def test_endpoints_are_rows_per_million_and_tasks_that_no_base_trial_solved() -> None:
    units = [
        unit("a", guided=(1000, 1)),
        unit("a", guided=(3000, 1)),
        unit("b", solved=True, guided=(4000, 1)),
        unit("c", guided=(2000, 0)),
    ]
    arm = compared(units, gold_informed=False, reflector="r", seed=0)["arms"][GUIDED]
    assert arm[ROWS] == pytest.approx(1_000_000 * 3 / 10_000)
    assert arm[TASKS] == 1, "task a counts once, task b was solved before, task c was not solved"
    assert (arm["kept"], arm["price"], arm["episodes"]) == (3, 10_000, 4)


def test_an_arm_beats_another_only_where_the_interval_excludes_zero() -> None:
    clear = [unit(f"t{n}", guided=(1000, 1), unguided=(1000, 0)) for n in range(30)]
    mixed = [unit(f"t{n}", guided=(1000, n % 2), unguided=(1000, (n + 1) % 2)) for n in range(30)]
    name = f"guidance (d - b): {ROWS}"
    assert (
        compared(clear, gold_informed=False, reflector="r", seed=0)["effects"][name]["verdict"]
        == "beats"
    )
    effect = compared(mixed, gold_informed=False, reflector="r", seed=0)["effects"][name]
    assert effect["low"] < 0 < effect["high"]
    assert effect["verdict"] == "no difference shown"
    assert [verdict(0.5, 2), verdict(-2, -0.5), verdict(0, 1)] == [
        "beats",
        "is beaten",
        "no difference shown",
    ]


def test_trials_of_one_task_are_resampled_together() -> None:
    once = [unit(f"t{n}", guided=(1000, n % 2)) for n in range(20)]
    fourfold = [unit(f"t{n}", guided=(1000, n % 2)) for n in range(20) for _ in range(4)]
    name = f"guidance (d - b): {ROWS}"
    first, second = (
        compared(units, gold_informed=False, reflector="r", seed=0)["effects"][name]
        for units in (once, fourfold)
    )
    assert (first["low"], first["high"]) == pytest.approx((second["low"], second["high"])), (
        "copies of trials narrow no interval"
    )


def test_one_task_gives_no_interval() -> None:
    effect = compared([unit("t", guided=(1000, 1))], gold_informed=False, reflector="r", seed=0)[
        "effects"
    ][f"net (d - a): {ROWS}"]
    assert (effect["difference"], effect["low"], effect["verdict"]) == (1000.0, None, "not known")


def test_gold_informed_guidance_supports_no_claim_however_clear_its_figures() -> None:
    units = [unit(f"t{n}", guided=(1000, 1)) for n in range(30)]
    found = compared(units, gold_informed=True, reflector="rules", seed=0)
    assert {effect["verdict"] for effect in found["effects"].values()} == {
        "supports no claim: gold-informed"
    }
    blind = compared(units, gold_informed=False, reflector="rules_blind", seed=0)
    header, *_ = equal_budget_table([blind, found]).splitlines()
    assert header == "| | rules_blind | rules (gold-informed, supports no claim) |"


def assert_arms_cost_what_the_retry_has_cost(chain: dict[str, Any]) -> None:
    budget = chain["arms"][GUIDED]["price"]
    assert budget == pytest.approx(chain["price"])
    for name in set(ARMS) - {GUIDED}:
        arm = chain["arms"][name]
        assert arm["price"] >= budget or arm["episodes"] == MOST_EPISODES
        assert arm["overrun"] == pytest.approx(max(0, arm["price"] - budget))
        assert arm["episodes"] >= (0 if "guided_" in name else 1)


def played_kinds(ledger: StoredLedger) -> tuple[dict[str, Any], set[str]]:
    """(count, guided and gold-informed ones of each synthesizer; the synthesizers in sight)."""
    with connect(ledger) as connection:
        sql = (
            "SELECT synthesizer, count(*), count(guidance), bool_or(gold_informed) FROM "
            "trajectories_all GROUP BY ALL ORDER BY ALL"
        )
        kinds = {name: rest for name, *rest in connection.execute(sql).fetchall()}
        seen = connection.execute("SELECT DISTINCT synthesizer FROM trajectories").fetchall()
    return kinds, {name for (name,) in seen}


def test_on_storefront_every_arm_gets_what_the_retry_has_cost(tmp_path: Path) -> None:
    retry = {"reflector": "rules_blind", "equal_budget": True}
    flow = reflecting_flow(
        "",
        retry,
        env={"name": "storefront", "tasks": 6},
        models={"explorer": STOCHASTIC},
        trials=3,
        seed=5,
    )
    run, reports, said = run_flow(flow, str(tmp_path / "run"))
    chains = details(run.ledger, CHAIN)
    assert len(chains) == reports["rollout"]["outcomes"]["failure"] > 3
    for chain in chains:
        assert_arms_cost_what_the_retry_has_cost(chain)
    found = reports["reflect_retry"]["equal_budget"]
    assert (found["trials"], set(found["arms"]), len(found["effects"])) == (
        len(chains),
        set(ARMS),
        2 * len(EFFECTS),
    )
    assert "equal budget, guidance (d - b): " in " ".join(reports["reflect_retry"]["also"])
    kinds, seen = played_kinds(run.ledger)
    assert seen == {"rollout", "reflect_retry"}, "no other stage sees the arms' episodes"
    for name in set(ARMS) - {GUIDED}:
        count, guided, informed = kinds[f"equal_budget_{name}"]
        assert count == found["arms"][name]["episodes"]
        assert guided == (count if "guided_" in name else 0)
        assert informed is False
    assert kinds[f"equal_budget_{UNGUIDED}"][0] > 0
    assert kinds[f"equal_budget_{FROM_START}"][0] > 0
    _, again, said = run_flow(flow, str(tmp_path / "run"))
    assert "reflect_retry: nothing to do" in said
    assert json.dumps(again["reflect_retry"], sort_keys=True) == json.dumps(
        reports["reflect_retry"], sort_keys=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("point", rounds(200, nightly=[40, 120, 260]))
def test_killed_among_the_arms_it_plays_no_journaled_turn_again(
    tmp_path: Path, point: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    env, retry = {"name": "echo", "tasks": 8, "turns": 3}, {"equal_budget": True, "live": 4}
    with ChatServer(stutterer(), latency_s=0.002) as server:
        flow = reflecting_flow(server.url, retry, env=env)
        _, undisturbed, _ = run_flow(flow, str(tmp_path / "whole"))
        needed = server.counts()["total"]
        state, url = tmp_path / "state", str(tmp_path / "run")
        monkeypatch.setenv("SYNTH_STATE_DIR", str(state))
        run_flow(flow.model_copy(update={"stages": flow.stages[:1]}), url)
        path = tmp_path / "flow.yaml"
        path.write_text(yaml.safe_dump(flow.model_dump(mode="json")))
        assert kill_at(start(path, url, SYNTH_STATE_DIR=str(state)), state, point)
        events, _ = recorded(StoredLedger(url).journal_folder)
        journaled = sum(
            isinstance(event, JournaledReply) for found in events.values() for event in found
        )
        committed = sum(t.totals.calls for t in StoredLedger(url).trajectories())
        before = server.counts()["total"]
        run, reports, _ = run_flow(flow, url)
        assert server.counts()["total"] - before == needed - committed - journaled
    assert (
        reports["reflect_retry"]["equal_budget"]["arms"]
        == undisturbed["reflect_retry"]["equal_budget"]["arms"]
    )
    with connect(run.ledger) as connection:
        ((slots, rows),) = connection.execute(
            "SELECT count(DISTINCT slot_id), count(*) FROM trajectories_all"
        ).fetchall()
    assert slots == rows, "no episode stands twice"
