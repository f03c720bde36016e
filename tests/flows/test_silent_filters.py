"""On how many trajectories a filter could speak is told, and warned of below half."""

import json
from io import StringIO
from pathlib import Path

import pytest

from synth.api.runs import curate
from synth.engine.progress import PlainProgress
from synth.importers.commit import import_into
from synth.importers.records import ImportSettings
from synth.schemas.flow import Flow


@pytest.mark.parametrize(("known", "warned"), [(1, True), (2, False)])
def test_a_filter_that_is_silent_on_most_is_told_of(
    tmp_path: Path, known: int, warned: bool
) -> None:
    """Three trajectories, of which so many have a verdict that `solved` can go by."""
    chats = [
        {"messages": [{"role": "user", "content": f"q{i}"}, {"role": "assistant", "content": "a"}]}
        | ({"reward": 1} if i < known else {})
        for i in range(3)
    ]
    source = tmp_path / "chats.jsonl"
    source.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    url = str(tmp_path / "run")
    import_into(url, [source], "auto", PlainProgress(StringIO()), ImportSettings())
    flow = Flow.model_validate({"name": "f", "stages": [{"filter": ["solved", "secrets"]}]})
    report = curate(url, flow, quiet=True).reports["filter"]
    spoke = {one["name"]: (one["spoke"], one["asked"]) for one in report["filters"]}
    assert spoke == {"solved": (known, 3), "secrets": (3, 3)}
    line = f"WARNING: solved could speak on {known} of 3 only ({3 - known} no_verdict)"
    assert (line in report["also"]) is warned
