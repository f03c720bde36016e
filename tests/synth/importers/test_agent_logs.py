"""Logs of every agent format, damaged at random: one clear line for what is wrong, and whole
trajectories for the rest.
"""

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.importers.agents import mini_swe_agent, swe_agent
from synth.importers.interchange import inspect_log
from synth.importers.records import Imported, Rejection, Replaced
from synth.importers.registry import format_of
from synth.schemas.trajectory import Trajectory
from tests.synth.importers import (
    test_atif,
    test_claude_code,
    test_codex,
    test_inspect,
    test_mini_swe_agent,
    test_swe_agent,
)
from tests.synth.importers.imports import imported

ANSWERS = [
    {"role": "assistant", "content": None, "tool_calls": [test_mini_swe_agent.call("a")]},
    {
        "object": "response",
        "output": [{"type": "message", "role": "assistant", "content": []}],
        "usage": {},
        "extra": {},
    },
    test_mini_swe_agent.END,
]
LOGS: dict[str, list[Any]] = {
    "swe_agent": [
        test_swe_agent.run(replay_config={"agent": {"model": {"name": "m", "temperature": 1}}})
    ],
    "mini_swe_agent": [test_mini_swe_agent.run(ANSWERS)],
    "inspect": [
        test_inspect.log(test_inspect.sample(), test_inspect.sample(limit={"type": "token"}))
    ],
    "atif": [test_atif.document(subagent_trajectories=[test_atif.document()])],
    "claude_code": test_claude_code.SESSION,
    "codex": test_codex.SESSION,
}
FORMATS = sorted(LOGS)
junk: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        2**70,
        1.5,
        "",
        "x",
        "\x00\ud800",
        [],
        [[]],
        [None],
        {},
        {"type": None},
        {"a": {}},
    ]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    keys = (
        range(len(value))
        if isinstance(value, list)
        else list(value)
        if isinstance(value, dict)
        else []
    )
    return [found for key in keys for found in [(*path, key), *places(value[key], (*path, key))]]


PLACES = {name: places(log) for name, log in LOGS.items()}


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    try:
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = new
    except (KeyError, IndexError, TypeError):
        return  # an earlier change took this place away


def read(content: bytes, format: str) -> list[Imported | Rejection]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(content)
        found = [
            entry for entry in imported([path], format=format) if not isinstance(entry, Replaced)
        ]
    assert found, "nothing came in, and nothing says why"
    for entry in found:
        if isinstance(entry, Imported):
            again = msgspec.json.decode(msgspec.json.encode(entry.trajectory), type=Trajectory)
            assert (again, again.turns != ()) == (entry.trajectory, True)
            msgspec.json.encode(entry.task)
        else:
            assert isinstance(entry, Rejection)
            assert entry.reason.isidentifier()
            assert "\n" not in entry.detail
    return [entry for entry in found if isinstance(entry, Imported | Rejection)]


def packed(log: list[Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in log).encode()


@pytest.mark.parametrize("name", FORMATS)
def test_content_tells_the_format(name: str) -> None:
    assert format_of(LOGS[name][0] if name != "claude_code" else LOGS[name][-1]) == name
    assert all(isinstance(entry, Imported) for entry in read(packed(LOGS[name]), "auto"))


@pytest.mark.slow
@settings(max_examples=250)
@given(data=st.data())
def test_any_value_in_any_place_is_read_or_named(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(FORMATS))
    log = copy.deepcopy(LOGS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        put(log, data.draw(st.sampled_from(PLACES[name])), copy.deepcopy(data.draw(junk)))
    read(packed(log), name)


@settings(max_examples=60)
@given(
    name=st.sampled_from(FORMATS),
    cut=st.floats(0.01, 0.99),
    odd=st.sampled_from([b"", b"\xff", b"NaN", b'{"a":1,"a":2}', b"\x00", b"[" * 5000]),
)
def test_text_that_is_cut_or_damaged_is_read_or_named(name: str, cut: float, odd: bytes) -> None:
    whole = packed(LOGS[name])
    place = int(len(whole) * cut)
    read(whole[:place] + odd + (whole[place:] if odd else b""), name)


@pytest.mark.parametrize(
    "ended",
    [swe_agent.ENDED, mini_swe_agent.ENDED, inspect_log.LIMITS],
    ids=["swe_agent", "mini_swe_agent", "inspect"],
)
def test_the_docs_say_what_every_way_to_end_becomes(
    ended: Mapping[str, Any], request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.id
    page = (Path(__file__).parents[3] / "docs" / "import" / f"{name}.md").read_text(
        encoding="utf-8"
    )
    rows = [row for row in page.splitlines() if row.startswith("|")]
    for status, (termination, fault) in ended.items():
        assert any(f"`{status}`" in row and f"`{fault or termination}`" in row for row in rows), (
            status
        )
