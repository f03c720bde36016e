"""On how many trajectories a filter could speak is told, and warned of below half."""

import json
from io import StringIO
from pathlib import Path

import pytest

from synth.api.curation import curate
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


def test_what_a_filter_drops_stands_beside_the_longest(tmp_path: Path) -> None:
    """Two failures, the longer of them twice the same; the copy is dropped. One of one is a
    failure; so is the longest, and what has the most calls is as long as all others.
    """

    def chat(words: str, turns: int, reward: int) -> dict[str, object]:
        said = [{"role": "user", "content": words}, {"role": "assistant", "content": words}]
        return {"messages": said * turns, "reward": reward, "id": f"{words}-{turns}-{reward}"}

    chats = [chat("a", 1, 1), chat("b", 3, 0), {**chat("b", 3, 0), "id": "again"}]
    source = tmp_path / "chats.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in chats))
    url = str(tmp_path / "run")
    import_into(url, [source], "auto", PlainProgress(StringIO()), ImportSettings())
    flow = Flow.model_validate({"name": "f", "stages": [{"filter": ["solved", "duplicates"]}]})
    report = curate(url, flow, quiet=True).reports["filter"]
    ((beside),) = report["baselines"]
    assert beside["filter"] == "duplicates"
    counted = [beside[name] for name in ("dropped", "failures", "by_turns", "base", "decided")]
    assert counted == [1, 1, 1, 2, 3]
    assert any(line.startswith("duplicates: 1 of 1 dropped") for line in report["also"])
