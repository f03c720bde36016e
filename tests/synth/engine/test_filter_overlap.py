"""How filters stand to each other, on a table whose figures are worked out by hand."""

import duckdb
import pytest

from synth.flows.stages.filter_report import agreements, compositions, only_by, overlap_lines

VERDICTS = {  # trajectory -> (solved, signals, secrets); None: undefined
    "a": (True, True, True),
    "b": (False, False, True),
    "c": (False, False, None),
    "d": (False, True, True),
    "e": (True, True, False),
    "f": (True, True, None),
}


@pytest.fixture
def connection() -> duckdb.DuckDBPyConnection:
    found = duckdb.connect(":memory:")
    found.execute(
        "CREATE TABLE decisions_all (trajectory_id VARCHAR, filter VARCHAR, keep BOOLEAN, "
        "stage_key VARCHAR)"
    )
    found.execute(
        "CREATE TABLE trajectories_all (trajectory_id VARCHAR, task_id VARCHAR, n_turns INT, "
        "n_tool_calls INT, completion_tokens INT, "
        "synthesizer VARCHAR, outcome VARCHAR, env VARCHAR)"
    )
    for at, (identity, verdicts) in enumerate(VERDICTS.items()):
        for name, keep in zip(("solved", "signals", "secrets"), verdicts, strict=True):
            found.execute("INSERT INTO decisions_all VALUES (?, ?, ?, 'k')", [identity, name, keep])
        found.execute(
            "INSERT INTO decisions_all VALUES (?, 'solved', false, 'another stage')", [identity]
        )
        row = [
            identity,
            f"t{at % 2}",
            at + 1,
            at,
            10,
            "rollout",
            "success" if verdicts[0] else "failure",
            "w",
        ]
        found.execute("INSERT INTO trajectories_all VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    return found


def test_what_one_filter_alone_drops(connection: duckdb.DuckDBPyConnection) -> None:
    assert only_by(connection, "k") == {"secrets": 1, "solved": 1}


def test_two_filters_agree_over_what_both_decided(connection: duckdb.DuckDBPyConnection) -> None:
    found = {
        (one.one, one.other): one
        for one in agreements(connection, "k", ["solved", "signals", "secrets"])
    }
    pair = found[("solved", "signals")]
    assert (pair.decided, pair.dropped_by_one, pair.dropped_by_other, pair.dropped_by_both) == (
        6,
        3,
        2,
        2,
    )
    assert pair.overlap == pytest.approx(2 / 3)
    assert pair.kappa == pytest.approx(
        (5 / 6 - 0.5) / 0.5
    )  # agreed on five of six; by chance 3/6 * 2/6 + 3/6 * 4/6 = .5
    assert found[("solved", "secrets")].decided == 4
    assert found[("solved", "secrets")].overlap == 0


def test_composition_before_and_after(connection: duckdb.DuckDBPyConnection) -> None:
    found = compositions(connection, "k")
    assert (
        found["before"]["trajectories"],
        found["before"]["tasks"],
        found["before"]["mean_turns"],
    ) == (6, 2, 3.5)
    assert (
        found["after"]["trajectories"],
        found["after"]["mean_turns"],
        found["after"]["outcome"],
    ) == (2, 3.5, {"success": 2})
    lines = overlap_lines(
        only_by(connection, "k"), agreements(connection, "k", ["solved", "signals"]), found
    )
    assert lines[0] == "dropped by one filter and no other: 1 secrets, 1 solved"
    assert lines[1] == "solved and signals drop the same in 67% of their drops (2 by both)"
    assert lines[2] == "tasks 2 -> 2, turns per trajectory 3.5 -> 3.5, calls 2.5 -> 2.5"
