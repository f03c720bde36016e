"""What keeps a pair out, what puts it apart, and which of several stays."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from synth.ledger.ledger import Decision, Score
from synth.ledger.log.manifest import StageLine
from synth.pairs import PairReport, PairSettings, preference_pairs
from synth.schemas.evidence.pairs import PairFamily
from synth.schemas.trajectory import Authorship, SampledBy, Trajectory
from synth.text.transcript.acts import act_digest
from tests.synth.pairs.planted import accepted, act, fork, planted, run

pytestmark = pytest.mark.slow
Rows = list[Any]


def pairs(ledger: Any, **settings: Any) -> tuple[Rows, PairReport]:
    report = PairReport()
    return list(preference_pairs(ledger, PairSettings(**settings), report)), report


def _with(trajectory: Trajectory, **fields: Any) -> Trajectory:
    return msgspec.structs.replace(trajectory, **fields)


def _with_turn(one: Trajectory, by: SampledBy) -> Any:
    return msgspec.structs.replace(one.turns[0], sampled_by=by)


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        ({"status": "weak"}, "weak"),
        ({"status": "rejected"}, "rejected"),
        ({"status": "undefined", "q_pos": None}, "undefined"),
        ({"alternative_authorship": "scripted"}, "scripted"),
        ({"pos_ids": ["gone"]}, "trajectory_lost"),
        ({"q_neg": None}, "no_counts"),
    ],
)
def test_what_was_not_shown_is_no_pair(tmp_path: Path, detail: dict[str, Any], reason: str) -> None:
    base, good = fork("a")
    rows, report = pairs(planted(tmp_path, [base, good], [accepted(base, 1, good, **detail)]))
    assert (rows, report.left_out) == ([], {reason: 1})


def test_a_chosen_act_without_ground_is_no_pair(tmp_path: Path) -> None:
    base, good = fork("a")
    good = _with(good, turns=(good.turns[0], act(1, "take", arguments={"order_id": "#W7731"})))
    assert pairs(planted(tmp_path, [base, good], [accepted(base, 1, good)]))[1].left_out == {
        "chosen_unjustified_argument": 1
    }


@pytest.mark.parametrize(
    ("fields", "settings", "reason"),
    [
        ({"benchmark": "tau/test"}, "allow_benchmark", "benchmark"),
        ({"split": "test"}, "allow_held_out", "held_out"),
        ({"authorship": Authorship.SCRIPTED}, "include_scripted", "scripted"),
    ],
)
def test_benchmarks_held_out_splits_and_scripts_stay_out_unless_named(
    tmp_path: Path, fields: dict[str, Any], settings: str, reason: str
) -> None:
    base, good = fork("a", **fields)
    ledger = planted(tmp_path, [base, good], [accepted(base, 1, good)])
    assert pairs(ledger)[1].left_out == {reason: 1}
    assert len(pairs(ledger, **{settings: True})[0]) == 1


def test_a_dropped_secret_and_one_that_nobody_looked_for_keep_a_pair_out(tmp_path: Path) -> None:
    (base, good), (second, apart) = fork("a"), fork("b", better="sell")
    found = [
        Decision(base.trajectory_id, "secrets", False, "api_key"),
        Decision(good.trajectory_id, "secrets", True, "clean"),
    ]
    found.append(Decision(second.trajectory_id, "secrets", True, "clean"))
    scores = [accepted(base, 1, good), accepted(second, 1, apart)]
    _, report = pairs(
        planted(tmp_path, [base, good, second], scores, decisions=found, apart=[apart])
    )
    assert report.filtered == {"secrets:api_key": 1, "secrets:not_looked_for": 1}


@pytest.mark.parametrize(("action", "filtered"), [("redact", {}), ("drop", {"secrets:ticket": 1})])
def test_a_continuation_that_no_filter_saw_is_looked_through_with_the_filters_settings(
    tmp_path: Path, action: str, filtered: dict[str, int]
) -> None:
    base, apart = fork("a")
    said = msgspec.structs.replace(apart.turns[1], content="As in T-77123.")
    apart = _with(apart, turns=(apart.turns[0], said, *apart.turns[2:]))
    found = [Decision(base.trajectory_id, "secrets", True, "clean")]
    ledger = planted(tmp_path, [base], [accepted(base, 1, apart)], decisions=found, apart=[apart])
    searched = {
        "action": action,
        "find": ["secrets"],
        "ignore": [],
        "allow": [],
        "patterns": {"ticket": r"T-[0-9]{5}"},
    }
    ledger.begin_stage(StageLine("filter", "filter", {"secrets": searched}, ""))
    rows, report = pairs(ledger)
    assert report.filtered == filtered
    assert [row.chosen.content for row in rows] == (
        [] if filtered else ["As in [REDACTED:ticket:1]."]
    )


def test_a_continuation_may_repeat_its_trial(tmp_path: Path) -> None:
    base, good = fork("a")
    decisions = [Decision(good.trajectory_id, "duplicates", False, "near")]
    assert (
        len(
            pairs(planted(tmp_path, [base, good], [accepted(base, 1, good)], decisions=decisions))[
                0
            ]
        )
        == 1
    )


def test_prefixes_of_another_policy_are_named_and_kept_apart(tmp_path: Path) -> None:
    (teacher, good), (ours, better) = fork("a", model="teacher"), fork("b", better="sell")
    rows, report = pairs(
        planted(
            tmp_path,
            [teacher, good, ours, better],
            [accepted(teacher, 1, good), accepted(ours, 1, better)],
        )
    )
    assert {row.pair.off_policy_reason for row in rows} == {"other_policy", None}
    assert report.off_policy == {"other_policy": 1}
    assert {name.partition("/")[0] for name in report.lengths} == {"off_policy", "step", "all"}


@pytest.mark.parametrize("by", [SampledBy.INJECTED, SampledBy.HUMAN])
def test_a_prefix_with_turns_that_the_policy_did_not_take_is_off_policy(
    tmp_path: Path, by: SampledBy
) -> None:
    base, good = fork("a")
    base, good = (_with(one, turns=(_with_turn(one, by), one.turns[1])) for one in (base, good))
    (row,), _ = pairs(planted(tmp_path, [base, good], [accepted(base, 1, good)]))
    assert row.pair.off_policy_reason == by.value


def test_weights_that_have_changed_since_make_a_prefix_off_policy(tmp_path: Path) -> None:
    base, good = fork("a", weights_id="w1")
    (row,), _ = pairs(planted(tmp_path, [base, good], [accepted(base, 1, good, weights_id="w2")]))
    assert row.pair.off_policy_reason == "other_weights"


def test_of_two_candidates_for_one_pair_that_of_the_policy_itself_stays(tmp_path: Path) -> None:
    base, good = fork("a")
    retry = run(
        "retry",
        act(0),
        act(1, "take"),
        solved=True,
        parent_id=base.trajectory_id,
        pivot_turn=1,
        guidance="Take it.",
    )
    told = Score(base.trajectory_id, "reflection", 1.0, 1, {"retry": retry.trajectory_id})
    (row,), report = pairs(planted(tmp_path, [base, good, retry], [accepted(base, 1, good), told]))
    assert (row.pair.family, report.left_out) == (PairFamily.STEP, {"duplicate": 1})


@pytest.mark.parametrize(
    ("tag", "tested_by", "unsampled"),
    [
        (1.0, "explorer", True),
        (0.0, "expert", False),
        (None, "explorer", False),  # the test's alternative was the policy's own sample
        (None, "expert", True),
    ],
)
def test_what_the_unguided_policy_was_never_seen_to_do_is_told(
    tmp_path: Path, tag: float | None, tested_by: str, unsampled: bool
) -> None:
    base, good = fork("a")
    retry = run(
        "retry",
        act(0),
        act(1, "take"),
        solved=True,
        parent_id=base.trajectory_id,
        pivot_turn=1,
        guidance="Take it.",
    )
    told = Score(base.trajectory_id, "reflection", 1.0, 1, {"retry": retry.trajectory_id})
    tagged = Score(retry.trajectory_id, "off_policy_pivot", tag, 1, {"samples": 8})
    tested = accepted(base, 1, good, alternative_authorship="scripted", alternative_from=tested_by)
    (row,), _ = pairs(planted(tmp_path, [base, good, retry], [tested, told, tagged]))
    pair = row.pair
    assert (pair.family, pair.chosen_unsampled) == (PairFamily.PIVOT, unsampled)
    assert not pair.off_policy, "the policy to be trained sampled the prefix"


def test_equal_pairs_of_two_trials_are_one(tmp_path: Path) -> None:
    (a, good), (b, fine) = fork("a"), fork("b")
    rows, report = pairs(
        planted(tmp_path, [a, good, b, fine], [accepted(a, 1, good), accepted(b, 1, fine)])
    )
    assert (len(rows), report.left_out) == (1, {"duplicate": 1})


@pytest.mark.parametrize(
    ("chosen", "rejected", "reason"),
    [
        (None, None, "injection_likelihood_unknown"),
        ((-0.5, -0.5), (-1.5, -0.7), "injection_unlikely_rejected"),  # .5 against 1.1 nats a token
        ((-0.5, -0.5), (-1.2, -0.8), None),  # .5 against 1.0
    ],
)
def test_an_injected_turn_is_a_rejected_one_only_where_the_policy_might_have_said_it(
    tmp_path: Path, chosen: Any, rejected: Any, reason: str | None
) -> None:
    twin = run("twin", act(0), act(1, "take", logprobs=chosen), solved=True)
    wrong = run(
        "wrong",
        act(0),
        act(1, "drop", logprobs=rejected),
        solved=False,
        parent_id=twin.trajectory_id,
        pivot_turn=1,
    )
    detail = {
        **dict(accepted(wrong, 1, twin).detail or {}),
        "clean_twin_id": twin.trajectory_id,
        "strategy": "natural",
    }
    rows, report = pairs(
        planted(tmp_path, [twin, wrong], [Score(wrong.trajectory_id, "injection", 1.0, 1, detail)])
    )
    assert report.left_out == ({} if reason is None else {reason: 1})
    assert [row.pair.family for row in rows] == ([PairFamily.INJECTION] if reason is None else [])


def test_caps_keep_the_pairs_with_the_smallest_ids_whatever_the_order_of_the_ledger(
    tmp_path: Path,
) -> None:
    trials = [fork(name, better=f"take_{name}", worse=f"drop_{name}") for name in "abcdef"]
    every = [one for both in trials for one in both]
    scores = [accepted(base, 1, good) for base, good in trials]
    (tmp_path / "1").mkdir()
    (tmp_path / "2").mkdir()
    forward = planted(tmp_path / "1", every, scores)
    backward = planted(tmp_path / "2", every[::-1], scores[::-1])
    first, report = pairs(forward)
    assert (len(first), report.left_out) == (3, {"step_cap": 3})
    ids = {row.pair.pair_id for row in pairs(forward, per_step=100)[0]}
    assert (
        {row.pair.pair_id for row in first}
        == {row.pair.pair_id for row in pairs(backward)[0]}
        == set(sorted(ids)[:3])
    )


def test_no_act_of_a_task_stands_in_two_pairs_and_a_task_gives_four(tmp_path: Path) -> None:
    """Of three pairs two share the chosen act, two the rejected one: one pair of each act stays."""
    acts = {"a": ("take", "drop"), "b": ("take", "leave"), "c": ("keep", "drop")}
    trials = [fork(name, better=better, worse=worse) for name, (better, worse) in acts.items()]
    found, report = pairs(
        planted(
            tmp_path,
            [one for both in trials for one in both],
            [accepted(base, 1, good) for base, good in trials],
        )
    )
    sides = [(row.chosen.tool_calls[0].name, row.rejected.tool_calls[0].name) for row in found]
    assert len({one for one, _ in sides}) == len({one for _, one in sides}) == len(sides) <= 2
    assert report.left_out == {"act_cap": 3 - len(sides)}


def test_a_thought_on_one_side_alone_is_to_be_left_out(tmp_path: Path) -> None:
    base, good = fork("a")
    base = _with(base, turns=(base.turns[0], msgspec.structs.replace(base.turns[1], thought="Hm.")))
    (row,), _ = pairs(
        planted(tmp_path, [base, good], [accepted(base, 1, good, own=act_digest(base.turns[1]))])
    )
    assert row.action_only
