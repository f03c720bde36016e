"""Preferences and desirability as LLaMA-Factory reads them: an odd conversation, then one answer
against another, or one with a tag.
"""

from typing import Any

import pyarrow as pa

from synth.exporters.dpo import PreferenceRow
from synth.exporters.facts import EVIDENCE
from synth.exporters.kind import Form
from synth.exporters.kto import DesirabilityRow
from synth.exporters.llamafactory import (
    LINEAGE,
    SAID,
    alternating,
    answer,
    dataset_info,
    lost,
    tools_text,
    training,
)
from synth.exporters.trl_preferences import label_columns, pair_columns
from synth.schemas.trajectory import Trajectory


def dpo_schema() -> pa.Schema:
    """Conversations, the two answers, and where they come from."""
    return _schema(
        [("chosen", SAID), ("rejected", SAID), ("pair_id", pa.string()), ("family", pa.string())]
    )


def dpo_record(row: PreferenceRow) -> dict[str, Any]:
    """One pair in these columns."""
    known = pair_columns(row.pair)
    return {
        **_prompt(row.prompt, row.trajectory),
        "chosen": answer(row.chosen),
        "rejected": answer(row.rejected),
        **{name: known[name] for name in ("pair_id", "family")},
    }


def kto_schema() -> pa.Schema:
    """Conversations that end with the labelled answer, and its tag."""
    return _schema([("kto_tag", pa.bool_()), ("q", pa.float64()), ("n", pa.int64())])


def kto_record(row: DesirabilityRow) -> dict[str, Any]:
    """One labelled turn in these columns."""
    known = label_columns(row)
    columns = _prompt(row.prompt, row.trajectory)
    columns["conversations"].append(answer(row.completion))
    return {**columns, "kto_tag": known["label"], "q": known["q"], "n": known["n"]}


def _schema(own: list[tuple[str, pa.DataType]]) -> pa.Schema:
    texts = [(name, pa.string()) for name in ("system", "tools", *LINEAGE)]
    return pa.schema([("conversations", pa.list_(SAID)), *own, *texts])


def _prompt(messages: list[dict[str, Any]], trajectory: Trajectory) -> dict[str, Any]:
    system, conversations = alternating(messages)
    lineage = {name: getattr(trajectory, name) for name in LINEAGE}
    return {
        "conversations": conversations,
        "system": system,
        "tools": tools_text(trajectory.tools),
        **lineage,
    }


_COLUMNS = {"system": "system", "tools": "tools"}
DPO = Form(
    name="llamafactory",
    arguments="dict",
    schema=dpo_schema,
    record=dpo_record,
    layout="one_shard",
    unsaid=lambda row: (EVIDENCE, *lost([*row.prompt, row.chosen, row.rejected])),
    beside=dataset_info({**_COLUMNS, "chosen": "chosen", "rejected": "rejected"}, ranking=True),
    training=lambda folder: training(folder, "dpo"),
)
KTO = Form(
    name="llamafactory",
    arguments="dict",
    schema=kto_schema,
    record=kto_record,
    layout="one_shard",
    unsaid=lambda row: (
        "what a label stands on, but for q and n",
        *lost([*row.prompt, row.completion]),
    ),
    beside=dataset_info({**_COLUMNS, "kto_tag": "kto_tag"}),
    training=lambda folder: training(folder, "kto"),
)
