"""Decisions of another time, and rows with several reasons: each is set aside once."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synth.flows.curate import curate
from synth.ledger.ledger import Decision, StageRef, StoredLedger
from synth.set_aside import SetAside
from tests.attack.findings_runs import a_task, calling, identity, page, trajectory
from tests.flow_files import echo_flow, run_flow

OF_ANOTHER_TIME: Mapping[str, tuple[dict[str, Any], str | None]] = {
    "no such turn": (
        {"findings": [{"place": "turn.9.content", "start": 0, "end": 4, "kind": "email"}]},
        "finding_without_text",
    ),
    "before it": (
        {"findings": [{"place": "turn.1.content", "start": -4, "end": 2, "kind": "email"}]},
        "finding_without_text",
    ),
    "behind it": (
        {"findings": [{"place": "opening.0", "start": 3, "end": 10**9, "kind": "email"}]},
        "finding_without_text",
    ),
    "no place": ({"findings": [{"where": "somewhere"}]}, "unreadable_findings"),
    "no list": ({"findings": "three"}, "unreadable_findings"),
    "a key": (
        {"findings": [{"place": "check", "start": 2, "end": 8, "kind": "word"}]},
        "unlawful_redaction",
    ),
    "goal": ({"findings": [{"place": "goal", "start": 3, "end": 10**9, "kind": "email"}]}, None),
    "words": (
        {"findings": [{"place": "turn.1.content", "start": 0, "end": 4, "kind": "email"}]},
        None,
    ),
    "nothing": ({}, None),
}
"""Details of decisions that say `redacted`, and why their rows are set aside."""


def test_decisions_of_another_time_set_their_rows_aside(tmp_path: Path) -> None:
    url = str(tmp_path / "run")
    rows = [trajectory(name, a_task(name), **calling("{}")) for name in OF_ANOTHER_TIME]
    StoredLedger(url, create=True).commit(
        StageRef("import", "import"),
        trajectories=rows,
        tasks=[a_task(name) for name in OF_ANOTHER_TIME],
    )
    stages: list[Any] = [{"filter": ["secrets"]}]
    run, _, _ = run_flow(echo_flow(env=None, models={}, stages=stages), url, curate)
    ref = StageRef("filter", run.ledger.state.stages["filter"].stage_key)
    found = [
        Decision(identity(name), "secrets", True, "redacted", 1.0, detail)
        for name, (detail, _) in OF_ANOTHER_TIME.items()
    ]
    run.ledger.commit(ref, decisions=found)
    stages += [{"select": {"sft": {}}}, {"export": {"kinds": ["sft", "rl"]}}, "report"]
    for _ in range(2):
        _, reports, _ = run_flow(echo_flow(env=None, models={}, stages=stages), url, curate)
    sft, broken = (
        reports["export"]["datasets"]["sft"],
        {name: why for name, (_, why) in OF_ANOTHER_TIME.items() if why is not None},
    )
    assert sft["rows"] == len(OF_ANOTHER_TIME) - len(broken)
    assert sft["left_out"] == {
        "set_aside:finding_without_text": 3,
        "set_aside:unreadable_findings": 2,
        "set_aside:unlawful_redaction": 1,
    }
    assert reports["select"]["parts"][0]["rejected"].items() >= sft["left_out"].items()
    for name in broken:
        assert any(identity(name) in line for line in sft["notes"])
        assert identity(name) in page(tmp_path / "run"), "the page names what it leaves out"
    assert reports["export"]["datasets"]["rl"]["left_out"]["set_aside:finding_without_text"] == 4, (
        "with the goal that cannot be told"
    )


def test_each_row_counts_once_under_its_first_reason() -> None:
    aside = SetAside()
    for name in ("a", "b", "a", "c"):
        assert (
            aside.tried(name, lambda name=name: json.loads("[" * 10**5 if name == "c" else "{"))
            is None
        )
    assert aside.counts == {"set_aside:unreadable_value": 2, "set_aside:too_deep": 1}
    assert list(aside.lines()) == [
        "Set aside as too_deep: c.",
        "Set aside as unreadable_value: a, b.",
    ]
