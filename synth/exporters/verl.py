"""SFT rows for verl. Its own loader reads messages and tools as arrow structs, whose missing keys
are null: rendered, they would be
trained on. So they stand as JSON text, and `synth_verl.py` beside them is the data set class that
verl is told to use; it keeps masks too.
"""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pyarrow as pa

from synth.exporters.json_columns import plain_text, said
from synth.exporters.kind import Chat, Form
from synth.exporters.sft_rows import SftRow
from synth.exporters.trl import LINEAGE

READER = "synth_verl.py"


def sft_schema() -> pa.Schema:
    """Messages and tools as JSON text, which turns carry loss, and where a row comes from."""
    texts = [(name, pa.string()) for name in ("messages", "tools", *LINEAGE)]
    return pa.schema([*texts, ("trained_turns", pa.list_(pa.int32()))])


def sft_record(row: SftRow) -> dict[str, Any]:
    """One row in these columns."""
    return {
        "messages": plain_text([said(message) for message in row.messages]),
        "tools": plain_text(row.trajectory.tools),
        **{column: getattr(row.trajectory, column) for column in LINEAGE},
        "trained_turns": list(row.trained),
    }


def chat(row: Mapping[str, Any]) -> Chat:
    """A loaded row as the class beside it reads it."""
    return Chat(json.loads(row["messages"]), json.loads(row["tools"]), tuple(row["trained_turns"]))


def reader(shards: tuple[str, ...]) -> dict[str, bytes]:
    """The data set class."""
    return {READER: files("synth.exporters").joinpath("verl_reader.py").read_bytes()}


def training(folder: str) -> str:
    """How verl is told of it."""
    return f"""```
python -m verl.trainer.sft_trainer data.train_files="[$(ls {folder}/train-*.parquet | paste -sd,)]" \\
    data.custom_cls.path={folder}/{READER} data.custom_cls.name=SynthSFTDataset data.max_length=32768 data.pad_mode=no_padding ...
```

`{READER}` renders a conversation whole, as the chat template does, and finds the turns with loss in it. Where a template renders what
stands before a turn otherwise once the turn is there, it stops and says so: such students need `unroll: per_turn`.
"""


PER_TURN = Form(
    name="verl",
    arguments="dict",
    schema=sft_schema,
    record=sft_record,
    training=training,
    masks=True,
    beside=reader,
    chat=chat,
)
SFT = Form(
    name="verl",
    arguments="dict",
    schema=sft_schema,
    record=sft_record,
    training=training,
    masks=True,
    beside=reader,
    chat=chat,
    per_turn=PER_TURN,
)
