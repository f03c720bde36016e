"""The whole folder of real data in one import: every file is read or refused by name, and the sums
are those of the raw files.
"""

from collections import Counter
from typing import Any

import pytest

from synth.engine.progress import progress_for
from synth.importers.commit import import_into
from synth.importers.tally import ImportTally
from synth.ledger.ledger import StoredLedger
from synth.ledger.sql import query
from tests.synth.importers.shared_data import DATA, load, raw, sums

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA.is_dir(), reason="real trajectories absent: ../shared/data"),
]


LICENCES = (
    "agentrx__LICENSE.microsoft_AgentRx fireact__LICENSE.anchen1011_FireAct inspect__LICENSE "
    "sweagent_demos__LICENSE.SWE-agent_SWE-agent"
)


LICENCES += (
    " tau1__LICENSE.sierra-research_tau-bench tau2__LICENSE.sierra-research_tau2-bench "
    "toolbench__LICENSE"
)


LICENCES += " whowhen__LICENSE.ag2ai_Agents_Failure_Attribution"


COPIES = (
    "tau1_retail__avaljotsingh tau2_es__LICENSE.oscaralvaro_tau2-bench "
    "tau2_grok__LICENSE.blakeelias_tau2-bench"
)


COPIES += " tau2_retail_multi__codesque16"


WORLDS = (
    "airline/flights airline/reservations airline/users retail/orders retail/products retail/users"
)


REFUSED = {
    **{f"LICENSES/{name}.txt": "not_json" for name in LICENCES.split()},
    **{f"LICENSES/{name}.txt": "duplicate_file" for name in COPIES.split()},
    **{f"tau1_env/{name}.json.gz": "unknown_format" for name in WORLDS.split()},
    "README.md": "not_json",
    "manifest.json": "unknown_format",
    "gold/attribution.jsonl": "unknown_format",
    "gold/outcome.jsonl.gz": "unknown_format",
    "gold/proxy_labels.jsonl": "unknown_format",
    "tau1_env/airline/wiki.md": "not_json",
    "tau1_env/retail/wiki.md": "not_json",
    "tau2_domains/airline/policy.md": "not_json",
    "tau2_domains/airline/tasks.dev.json.gz": "unknown_format",
    "tau2_domains/retail/db.json.gz": "unknown_format",
    "tau2_domains/retail/policy.md": "not_json",
    "tau2_domains/retail/tasks.dev.json.gz": "unknown_format",
}
"""Everything in the folder that holds no trajectory and no label."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ImportTally]:
    run = str(tmp_path_factory.mktemp("shared") / "run")
    return run, import_into(run, [DATA], "auto", progress_for(quiet=True))


@pytest.mark.slow
def test_what_does_not_come_in_is_known_file_by_file(whole: tuple[str, ImportTally]) -> None:
    _, tally = whole
    assert {r.file: r.reason for r in tally.rejections} == REFUSED
    assert sum(tally.reasons.values()) == len(tally.rejections) == len(REFUSED)
    assert tally.files == len([path for path in DATA.rglob("*") if path.is_file()])


@pytest.mark.slow
def test_everything_that_came_in_is_in_the_ledger_and_comes_in_once(
    whole: tuple[str, ImportTally],
) -> None:
    run, tally = whole
    ledger = StoredLedger(run)
    counted = query(
        ledger,
        "SELECT split_part(source, ':', 1) f, outcome, count(*), sum(n_turns), sum(n_tool_calls) "
        "FROM trajectories GROUP BY ALL",
    )
    rows = counted.fetchall()
    for name, counts in tally.formats.items():
        mine = [row for row in rows if row[0] == name]
        assert {row[1]: row[2] for row in mine} == {
            o: n
            for o in ("success", "failure", "truncated", "invalid", "unknown")
            if (n := counts[o])
        }
        assert (sum(row[3] for row in mine), sum(row[4] for row in mine)) == (
            counts["turns"],
            counts["tool_calls"],
        )
    again = import_into(run, [DATA], "auto", progress_for(quiet=True))
    assert (again.total(["trajectories"]), again.total(["present"]), again.marks) == (
        0,
        tally.total(["trajectories"]),
        0,
    )
    assert StoredLedger(run).state.lines == ledger.state.lines


def test_every_row_of_a_public_benchmark_is_stamped(whole: tuple[str, ImportTally]) -> None:
    rows = query(
        StoredLedger(whole[0]),
        "SELECT DISTINCT split_part(source, ':', 1), benchmark FROM trajectories WHERE source NOT "
        "LIKE 'swe%'",
    ).fetchall()
    stamped = {
        name: {(b or "none").split("/")[0] for n, b in rows if n == name}
        for name, _ in rows
        if name != "inspect"
    }
    assert stamped == {
        "fireact": {"hotpotqa"},
        # a retail task in the words of the older set; tasks that students made are nobody's set
        "tau2": {"tau2-bench", "tau-bench", "none"},
        "tau_bench": {"tau-bench"},
        "toolbench": {"toolbench"},
        "who_and_when": {"who-and-when"},
    }


def test_who_and_when_labels_stand_at_the_turn_that_was_blamed() -> None:
    runs = {path.name: raw(path) for path in (DATA / "whowhen_ag").iterdir()}
    found = load("whowhen_ag")
    messages = [m for run in runs.values() for m in run["history"]]
    assert sums(found) == (81, sum(m["name"] != "Computer_terminal" for m in messages), 0)
    assert Counter(f.trajectory.outcome.value for f in found) == {"failure": 81}
    same = 0
    for entry in found:
        run = runs[str(entry.trajectory.source).split(":")[-1]]
        (mark,) = entry.marks
        blamed = run["history"][int(run["mistake_step"])]
        if mark.turn is None:
            assert blamed["name"] == "Computer_terminal"
        else:
            turn = entry.trajectory.turns[mark.turn]
            assert (turn.agent, turn.content) == (blamed["name"], blamed["content"])
        same += blamed["name"] == run["mistake_agent"]
    assert same == 78


def test_agentrx_labels_stand_at_the_turn_that_was_blamed_and_never_at_a_user(
    whole: tuple[str, ImportTally],
) -> None:
    labels = raw(DATA / "agentrx_tau" / "ground_truth.json")
    attempts = {r["task_id"]: r for r in raw(DATA / "agentrx_tau" / "tau_retail.json.gz")}
    told = [
        attempts[x["trajectory_id"]]["traj"][f["step_number"] - 1]
        for x in labels
        for f in x["failures"]
    ]
    by_agent = sorted(str(message["content"]) for message in told if message["role"] == "assistant")
    rows = query(
        StoredLedger(whole[0]),
        "SELECT s.turn, t.content FROM scores s LEFT JOIN turns t ON t.trajectory_id = "
        "s.subject_id AND t.turn = s.turn"
        " WHERE metric = 'agentrx.failure'",
    ).fetchall()
    assert len(rows) == len(told) == 12
    assert sorted(str(content) for turn, content in rows if turn is not None) == by_agent
    assert len(by_agent) == 7
    roots = query(
        StoredLedger(whole[0]),
        "SELECT outcome, count(*) FROM scores JOIN trajectories ON trajectory_id = subject_id"
        " WHERE metric = 'agentrx.root_cause' GROUP BY 1",
    ).fetchall()
    assert roots == [("failure", 9)]


def test_toolbench_trees_give_a_trajectory_per_path_and_what_branches_off_says_where() -> None:
    trees = [raw(path) for path in sorted((DATA / "toolbench").rglob("*.json"))]

    def leaves(node: dict[str, Any]) -> list[dict[str, Any]]:
        return [leaf for child in node["children"] for leaf in leaves(child)] or [node]

    ends = [leaf for tree in trees for leaf in leaves(tree["tree"]["tree"])]
    found = load("toolbench")
    assert len(found) == len(ends)
    gave_up = sum(leaf.get("observation_code") == 4 for leaf in ends)
    assert Counter(f.trajectory.outcome.value for f in found) == {
        "success": sum(tree["win"] for tree in trees),
        "failure": gave_up,
        "truncated": len(ends) - 9 - gave_up,
    }
    assert sum(f.trajectory.parent_id is None for f in found) == 15
    by_id = {f.trajectory.trajectory_id: f.trajectory for f in found}
    for entry in found:
        branch = entry.trajectory
        if branch.parent_id is not None and branch.pivot_turn is not None:
            parent = by_id[branch.parent_id]
            assert branch.turns[: branch.pivot_turn] == parent.turns[: branch.pivot_turn]
            assert branch.turns[branch.pivot_turn :][:1] != parent.turns[branch.pivot_turn :][:1]
    firsts = [f.trajectory for f in found if f.trajectory.outcome == "success"]
    calls = [
        m["function_call"]
        for tree in trees
        if tree["win"]
        for m in tree["answer_generation"]["train_messages"][-1]
        if m.get("function_call")
    ]
    assert [(c.name, c.arguments) for t in firsts for turn in t.turns for c in turn.tool_calls] == [
        (c["name"], c["arguments"]) for c in calls
    ]
