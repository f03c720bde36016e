"""The funnel: every unit that came in is either kept or has a reason."""

from synth.engine.funnel import FunnelRow, counted, funnel, funnel_markdown

REPORTS = {
    "tasks": {"kind": "tasks", "count": 4},
    "rollout": {
        "kind": "episodes",
        "outcomes": {"success": 5, "failure": 2, "invalid": 3},
        "faults": {"model": 3},
    },
    "filter": {
        "kind": "filter",
        "filters": [
            {"name": "solved", "kept": {"success": 5}, "dropped": {"failure": 2}, "undefined": {}},
            {
                "name": "reexecuted",
                "kept": {"same": 4},
                "dropped": {"observation_differs": 1},
                "undefined": {"no_world": 2},
            },
        ],
        "kept": 4,
        "total": 7,
    },
    "export": {
        "kind": "export",
        "datasets": {"sft": {"rows": 4, "left_out": {"outcome:failure": 3}, "trained_turns": 1200}},
    },
}


def test_rows_follow_the_stages_and_add_up() -> None:
    assert list(funnel(REPORTS)) == [
        FunnelRow("tasks", "tasks", 4, 4, ""),
        FunnelRow("rollout", "attempts", 10, 7, "5 success, 2 failure; faults: 3 model"),
        FunnelRow("filter solved", "trajectories", 7, 5, "dropped: 2 failure"),
        FunnelRow(
            "filter reexecuted",
            "trajectories",
            7,
            6,
            "dropped: 1 observation_differs; undefined: 2 no_world",
        ),
        FunnelRow("filter, all together", "trajectories", 7, 4, ""),
        FunnelRow(
            "export sft", "rows", 7, 4, "left out: 3 outcome:failure; 1,200 turns carry loss"
        ),
    ]


def test_reasons_are_counted_the_largest_first() -> None:
    assert counted({"b": 1, "a": 1, "c": 2000}) == "2,000 c, 1 a, 1 b"


def test_the_markdown_table_has_a_row_per_line() -> None:
    lines = funnel_markdown(REPORTS).splitlines()
    assert lines[0] == "| stage | in | kept | unit | reasons |"
    assert lines[2] == "| tasks | 4 | 4 | tasks |  |"
    assert len(lines) == 8


def test_a_run_of_faults_alone_has_no_empty_reason_before_them() -> None:
    report = {"kind": "episodes", "outcomes": {"invalid": 3}, "faults": {"model": 2, "timeout": 1}}
    assert list(funnel({"rollout": report})) == [
        FunnelRow("rollout", "attempts", 3, 0, "faults: 2 model, 1 timeout")
    ]
