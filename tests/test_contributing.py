"""What CONTRIBUTING.md tells a newcomer to write works as it stands there."""

import json
import re
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import pytest

from benchmarks.house import COLUMNS, LONG_FILE
from synth.filters.registry import FILTERS
from synth.importers.load import Opened, opened
from synth.importers.records import Imported, Rejection
from synth.schemas.flow import Flow
from tests.flow_files import run_flow
from tests.synthesizers.fork_flows import fork_flow, rows
from tests.synthesizers.fork_world import dice

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def examples() -> list[str]:
    """The filter, its test, the importer, and the synthesizer."""
    return [dedent(block) for block in re.findall(r"```python\n(.*?) *```", PAGE, re.DOTALL)]


def test_the_filter_of_the_page_passes_the_test_of_the_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written, tested, *_ = examples()
    module = ModuleType("synth.filters.short")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(written, module.__dict__)
    names: dict[str, Any] = {}
    exec(tested, names)
    tests = [found for name, found in names.items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0]()


def test_the_importer_of_the_page_brings_dialogues_in_and_numbers_their_trials(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = ModuleType("synth.importers.interchange.mine")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(examples()[2], module.__dict__)
    good = {"dialog": [{"by": "human", "text": "Hi."}, {"by": "bot", "text": "Hello."}], "ok": True}
    records = [good, good | {"ok": False}, {"dialog": [{"by": "cat", "text": "?"}]}, {"dialog": []}]
    path = tmp_path / "log"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    (file,) = opened([path], format=module.FORMAT)
    assert isinstance(file, Opened)
    found = list(file.entries)
    came = [one.trajectory for one in found if isinstance(one, Imported)]
    assert [(one.trial, one.outcome) for one in came] == [(0, "success"), (1, "failure")]
    assert [one.turns[0].content for one in came] == ["Hello.", "Hello."]
    assert [(one.locator, one.reason) for one in found if isinstance(one, Rejection)] == [
        ("line3", "bad_record"),
        ("line4", "no_turns"),
    ]


@pytest.mark.slow
def test_the_synthesizer_of_the_page_finds_last_acts_that_save_a_trial_and_rests_once_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "replacing_acts.py").write_text(examples()[3])
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SYNTH_STATE_DIR", str(tmp_path / "state"))
    content = fork_flow(tasks=12, left=50).model_dump(mode="json")
    content["stages"][1] = {"replacing_acts:ReplaceLastAct": {"per_task": 1}}
    flow, url = Flow.model_validate(content), str(tmp_path / "run")
    _, reports, _ = run_flow(flow, url)
    labels = [(value, label) for _, _, value, label in rows(url) if not label["control"]]
    for value, label in labels:
        (call,) = label["alternative"]["tool_calls"]
        saves = json.loads(call["arguments"])["number"] < 50
        assert (value, label["status"]) == ((1.0, "confirmed") if saves else (0.0, "rejected"))
    assert {label["status"] for _, label in labels} == {"confirmed", "rejected"}
    assert reports["replacing_acts:ReplaceLastAct"]["attempted"] == len(labels)
    dice.opened = 0
    run_flow(flow, url)
    assert dice.opened == 0


def test_every_file_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.py|\w+(?:/\w+)*/)`", PAGE))
    made = {
        "filters/short.py",
        "tests/filters/test_short.py",
        "synth/importers/interchange/mine.py",
    }
    made |= {"tests/synth/importers/test_mine.py", "synthesizers/replace_last_act.py"}
    assert len(named) > 10
    assert [name for name in sorted(named - made) if not (ROOT / name).exists()] == []


def test_the_page_tells_the_limits_that_are_held_and_the_form_of_a_registry() -> None:
    assert f"at most {COLUMNS} columns" in PAGE
    assert f"at most {LONG_FILE} lines" in PAGE
    assert '"short": "synth.filters.short:short",' in PAGE
    table = (ROOT / "docs" / "filters.md").read_text(encoding="utf-8")
    assert [name for name in FILTERS if f"| `{name}`" not in table] == []
    assert all(re.fullmatch(r"synth\.filters(\.\w+)+:\w+", target) for target in FILTERS.values())


def test_the_glossary_has_at_most_forty_terms_each_once() -> None:
    rows = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").splitlines()
    terms = [
        term
        for row in rows
        if row.startswith("| ") and not row.startswith("| word |")
        for term in row.split("|")[1].strip().split(", ")
    ]
    assert len(terms) == len(set(terms)) <= 44
    assert sum(row.startswith("| ") for row in rows) - 1 <= 40
