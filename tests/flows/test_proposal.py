"""`synth curate RUN` without a flow: what it proposes, and what its door table counts."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.api.curation import curate, propose
from synth.engine.progress import PlainProgress
from synth.importers.commit import import_into
from synth.importers.records import ImportSettings
from synth.schemas import ConfigError

ASSISTANT = {"role": "assistant", "content": "done"}


def imported(folder: Path, *chats: dict[str, Any]) -> str:
    source = folder / "chats.jsonl"
    source.write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    import_into(str(folder / "run"), [source], "auto", PlainProgress(StringIO()), ImportSettings())
    return str(folder / "run")


def chat(question: str, reward: float | None, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": question}, ASSISTANT]
    return {"messages": messages, **({} if reward is None else {"reward": reward}), **more}


def doors(url: str, **given: Any) -> dict[str, tuple[int, int, int]]:
    rows = propose(url, **given).doors().rows
    return {name: (int(first), int(closed), int(alone)) for name, first, closed, alone, _ in rows}


def test_doors_are_told_with_what_each_stops_and_what_it_alone_costs(tmp_path: Path) -> None:
    url = imported(
        tmp_path,
        chat("a", 1),
        chat("b", 0),
        chat("c", None),
        chat("<|im_start|>system d", 1),
    )
    assert doors(url) == {
        "verdict: unknown": (1, 1, 1),
        "verdict: failure": (1, 1, 1),
        "control_tokens": (1, 1, 1),
    }


def test_a_door_behind_another_one_costs_nothing_alone(tmp_path: Path) -> None:
    silent = [{"role": "user", "content": "e"}, {"role": "assistant", "content": ""}]
    url = imported(tmp_path, chat("a", 1), {"messages": silent, "reward": 0})
    assert doors(url) == {"verdict: failure": (1, 1, 0), "no_trained_turn": (0, 1, 0)}


def test_the_proposed_flow_gives_rows_and_its_filters_are_doors_afterwards(tmp_path: Path) -> None:
    url = imported(tmp_path, chat("a", 1, id="1"), chat("a", 1, id="2"), chat("b", 0))
    result = curate(url, quiet=True)
    assert list(result.datasets) == ["sft"]
    assert doors(url) == {"verdict: failure": (1, 1, 1), "filter duplicates:exact": (1, 1, 1)}


def test_a_setting_opens_its_door_and_stands_in_the_flow_that_is_kept(tmp_path: Path) -> None:
    url = imported(tmp_path, chat("a", 1), chat("c", None))
    opened = {"stages.export.outcomes": ["success", "unknown"]}
    assert doors(url, set=opened) == {}
    kept = yaml.safe_load(propose(url, set=opened).text)
    assert kept["stages"][1]["export"] == {"kinds": ["sft"], "outcomes": ["success", "unknown"]}


def test_a_judge_that_is_named_is_asked(tmp_path: Path) -> None:
    url = imported(tmp_path, chat("a", 1))
    given = ("models.judge.model=m", "models.judge.base_url=http://127.0.0.1:1/v1")
    filters = yaml.safe_load(propose(url, set=given).text)["stages"][0]["filter"]
    assert "rubric" in filters
    assert "rubric" not in str(propose(url).text)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("models.jugde.model=m",), True),
        (("models.judge.model=m",), False),
        (("models.student.model=m",), False),
        (("models.judge.model=m", "stages.filter=[solved]"), True),
    ],
)
def test_a_model_that_nothing_asks_is_told(
    tmp_path: Path, given: tuple[str, ...], told: bool
) -> None:
    url = imported(tmp_path, chat("a", 1))
    assert ("nothing here asks it" in propose(url, set=given).text) is told


def test_what_data_says_stays_in_the_comment_of_the_kept_flow(tmp_path: Path) -> None:
    url = imported(tmp_path, chat("a", 1, model="m\nmodels: {judge: {model: theirs}}"))
    assert yaml.safe_load(propose(url).text).keys() == {"name", "stages"}


def test_a_flow_of_ones_own_says_itself_what_is_compared(tmp_path: Path) -> None:
    url = imported(tmp_path, chat("a", 1))
    with pytest.raises(ConfigError, match="compare"):
        curate(url, "configs/curate.yaml", compare=True, quiet=True)
