"""Whatever a stranger's file holds, an import comes to its end, and says of each record what became
of it.
"""

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.importers.actions.markup import in_tags
from synth.importers.actions.reading import read_actions
from synth.importers.actions.written import by_convention
from synth.importers.files.tables import plain
from synth.importers.labelling.beside import labels_of
from synth.importers.labelling.rows import LabelRow
from synth.importers.records import Imported, ImportSettings, Rejection
from tests.synth.importers.imports import read_lines
from tests.synth.importers.shapes import (
    test_chats,
    test_platforms,
    test_spans,
    test_sparks,
    test_streams,
    trace_records,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
SEEDS: list[Any] = [
    test_chats.SHAREGPT,
    test_chats.HERMES,
    test_chats.ANTHROPIC,
    {"messages": test_chats.LEGACY},
    test_chats.LANGCHAIN,
    test_chats.GEMINI,
    {"prompt": test_chats.CHAT[:4], "chosen": test_chats.CHAT[4:], "rejected": "No."},
    *(log[-1] for log in trace_records.LOGS.values()),
    *test_spans.TRACES.values(),
    test_platforms.GENERATIONS[0],
    test_platforms.RUNS[1],
    test_platforms.GRAPH,
    {"instance_id": "a__b-1", "history": test_streams.SERVER},
    {"instance_id": "a__b-1", "history": test_streams.SDK},
    *test_sparks.SPARK[:2],
    test_streams.STREAM[4],
]
PIECES = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<function=f>", "</function>", "<parameter=a>"),
        *(
            "</parameter>",
            "Action:",
            "Action Input:",
            "```bash",
            "```json",
            "```",
            "\n",
            "f[x]",
            "{",
        ),
        *(
            '{"name": "f", "arguments": {}}',
            "[TOOL_CALLS]",
            "Observation:",
            "Thought:",
            "API output:",
        ),
        *("<invoke name='f'>", "</invoke>", "\x00", "é", "<think>", "</think>", "[]", "}"),
    ]
)


def places(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside a JSON value."""
    keys: Any = (
        range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()
    )
    return [found for key in keys for found in [(*place, key), *places(value[key], (*place, key))]]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_record_with_any_part_replaced_is_read_or_refused_and_its_neighbours_come_in(
    data: st.DataObject,
) -> None:
    value = copy.deepcopy(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places(value)))
        holder = value
        try:
            for key in place[:-1]:
                holder = holder[key]
            holder[place[-1]] = data.draw(JSON)
        except (LookupError, TypeError):
            continue  # an earlier change took this place away
    with TemporaryDirectory() as folder:
        found, bad = read_lines(Path(folder), [value])
    assert found or bad
    assert all(
        one.reason.replace(":", "_").isidentifier() and "\n" not in one.detail for one in bad
    )
    for one in found:
        assert one.trajectory.turns


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(JSON, min_size=1, max_size=5))
def test_any_json_lines_among_chats_end_no_import(lines: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        found, bad = read_lines(Path(folder), [test_chats.CHAT, *lines, test_chats.CHAT])
    assert len(found) >= 2
    assert len(found) + len(bad) == len(lines) + 2


@given(st.lists(PIECES, max_size=14).map("".join))
def test_any_text_is_taken_apart_or_left_and_is_never_lost(text: str) -> None:
    for written in (in_tags(text), by_convention(text)):
        assert written is None or all(name for name, _ in written.calls)
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "q", "note": {}},
        {"role": "assistant", "content": text, "note": {}},
        {"role": "user", "content": "Observation: x", "note": {}},
    ]
    count = read_actions(messages)
    answer = messages[1]
    if count or "raw" in answer["note"]:
        assert answer["note"]["raw"] == text
    else:
        assert answer["content"] == text
    assert messages[2]["content"] == "Observation: x"


@pytest.mark.slow
@given(st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=4), max_size=6))
def test_any_labels_are_rows_or_rejections(rows: list[Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "labels.jsonl"
        lines = [json.dumps(row) for row in [*rows, {"id": "a", "success": True}]]
        path.write_text("\n".join(lines) + "\n")
        found = list(labels_of([path], ImportSettings()))
    assert all(isinstance(one, LabelRow | Rejection) for one in found)
    assert any(isinstance(one, LabelRow) and one.keys == ("a",) for one in found)


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_a_table_of_broken_bytes_is_one_rejection(content: bytes) -> None:
    from tests.synth.importers.imports import imported

    with TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        for sign in (b"PAR1", b"ARROW1\x00\x00", b"\xff\xff\xff\xff"):
            path.write_bytes(sign + content)
            (found,) = imported([path])
            assert isinstance(found, Rejection)


def test_a_struct_whose_keys_arrow_has_merged_has_only_its_own(tmp_path: Path) -> None:
    calls = [
        {"id": str(n), "type": "function", "function": {"name": "f", "arguments": arguments}}
        for n, arguments in enumerate([{"a": 1}, {"b": "x"}])
    ]
    rows = [
        {
            "messages": [
                {"role": "user", "content": "q"},
                {"role": "assistant", "tool_calls": [call]},
            ]
        }
        for call in calls
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    from tests.synth.importers.imports import imported

    found = [one for one in imported([tmp_path / "x.parquet"]) if isinstance(one, Imported)]
    assert [one.trajectory.turns[0].tool_calls[0].parsed() for one in found] == [
        {"a": 1},
        {"b": "x"},
    ]


@pytest.mark.parametrize(
    ("value", "held", "expected"),
    [
        ({"a": 1, "b": None}, pa.struct({"a": pa.int64(), "b": pa.int64()}), {"a": 1}),
        ([("k", 1)], pa.map_(pa.string(), pa.int64()), {"k": 1}),
        (b"\x00\x01", pa.binary(), "AAE="),
        ([None, 1], pa.list_(pa.int64()), [None, 1]),
        ('{"a": null}', pa.json_(), {"a": None}),
    ],
)
def test_values_of_arrow_as_json(value: Any, held: Any, expected: Any) -> None:
    assert plain(value, held) == expected
