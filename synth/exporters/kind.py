"""What a kind of data set and a form of its rows are made of."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from synth.datasets.release import CHATS, KindRule
from synth.exporters.forms.columns import Column, schema
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.text.transcript.message_texts import Change

if TYPE_CHECKING:
    import pyarrow as pa

    from synth.exporters.tally import ExportCounts
    from synth.ledger.ledger import Ledger


from pydantic import Field, model_validator

from synth.schemas.release import Release

Arguments = Literal["json", "dict"]
"""Tool-call arguments as the JSON text that was received, or as an object."""
Unroll = Literal["whole", "per_turn", "auto"]
"""One row per trajectory, one per trained turn, or the former only where the student's template
renders prefixes alike.
"""

ControlTokenPolicy = Literal["drop", "neutralise", "keep"]
"""What becomes of rows whose texts hold control tokens."""


class RowSettings(Release):
    """What goes into a data set, and in which form. `form` left out: the first that the registry
    names for the kind.

    `arguments`: left out, as the form's trainer wants them. `require_tools`: only trajectories with
    tool schemas, whether they call tools
    or not. `keep_masked`: take in rows with turns that must carry no loss, for trainers that read
    `masked_turns`, where the form cannot
    say it. `past_thoughts`: rows of one turn show the model what it had thought before (policies do
    not, unless `send_thoughts` is set).
    `join_answers`: what users say right after a tool answered is put into that answer, for formats
    in which speakers alternate strictly.
    `off_policy`: the pairs whose prefix the policy to be trained did not sample, and only these (a
    data set of their own).
    `include_statistical`: step labels that stand on statistics too. `student`: whose chat template
    rows are rendered with (folder or
    name of a tokenizer, a .jinja file, or `trl:qwen3`). `control_tokens`: whether rows in whose
    texts a tokenizer would read structure
    are dropped, neutralised or kept; left out, as the flow's filter of that name says, and dropped
    where the flow has none.
    """

    form: str | None = None
    include_statistical: bool = False
    off_policy: bool = False
    require_tools: bool = False
    keep_masked: bool = False
    arguments: Arguments | None = None
    thoughts: bool = True
    past_thoughts: bool = False
    join_answers: bool = False
    unroll: Unroll = "whole"
    student: str | None = None
    control_tokens: ControlTokenPolicy | None = None
    rows_per_shard: int = Field(default=1000, ge=1)

    @model_validator(mode="after")
    def _knows_the_template(self) -> "RowSettings":
        if self.unroll == "auto" and self.student is None:
            raise ValueError(
                "unroll: auto compares renderings, so it needs a student (a tokenizer's folder or "
                "name, or a .jinja file)"
            )
        return self


Spelling = Callable[[str], str]
"""From a setting's name, or `name=value`, to what the user writes to switch it on."""


def as_key(setting: str) -> str:
    """For instance: overwrite: true."""
    name, _, value = setting.partition("=")
    return f"{name}: {value or 'true'}"


def as_flag(setting: str) -> str:
    """For instance: --overwrite."""
    name, _, value = setting.partition("=")
    return f"--{name.replace('_', '-')} {value}".rstrip()


class ExportRow(Protocol):
    """Anything that a kind yields; `lineage` is what it descends from."""

    @property
    def lineage(self) -> Trajectory | Task: ...


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of data set: where its rows come from, and the rule by which they may leave.

    `one_row` says on the card what a row is; `counts` what is added up over the rows that were
    written, `content` what two rows share
    that are copies of each other. `texts` visits each text that a form writes of a row, and gives
    the row with what the visitor puts
    there.
    """

    name: str
    title: str
    one_row: str
    texts: "Callable[[Any, Form, Change], Any]"
    rows: "Callable[[Ledger, ExportCounts], Iterator[Any]]"
    counts: "Callable[[Any, ExportCounts], Mapping[str, int]]" = lambda row, tally: {}
    content: Callable[[Any], object] = lambda row: None
    rule: KindRule = CHATS


class NotRepresentableError(Exception):
    """A row that a form has no place for; `reason` is a short stable name that becomes a
    counter.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Chat(msgspec.Struct, frozen=True):
    """A row as its consumer reads it: `trained` are the assistant messages that it puts loss on."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    trained: tuple[int, ...]

    @property
    def conversations(self) -> tuple[list[dict[str, Any]], ...]:
        """The conversations that a template renders."""
        return (self.messages,)


class Comparison(msgspec.Struct, frozen=True):
    """A row as a preference trainer reads it: `sides` are the assistant messages that it weighs,
    each by itself after the prompt.
    """

    prompt: list[dict[str, Any]]
    sides: tuple[dict[str, Any], ...]
    tools: list[dict[str, Any]]

    @property
    def conversations(self) -> tuple[list[dict[str, Any]], ...]:
        """The prompt with each side behind it."""
        return tuple([*self.prompt, side] for side in self.sides)


class Steps(msgspec.Struct, frozen=True):
    """A row as a step trainer reads it: texts, a label per step on the last token of the step and
    its separator.

    The messages are what the texts were rendered from.
    """

    prompt: str
    steps: tuple[str, ...]
    labels: tuple[bool | None, ...]
    separator: str
    messages: list[dict[str, Any]]
    step_messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]

    @property
    def conversations(self) -> tuple[list[dict[str, Any]], ...]:
        """The prompt with all steps behind it."""
        return ([*self.messages, *self.step_messages],)


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """How one consumer reads rows of a kind: columns, and whether its loader gives a JSON value
    back unchanged.

    A column raises `NotRepresentableError` for a row that has no place in the form; `unsaid` names what of
    a row is lost in it. `guide` is the section of the card that says how to use it. `masks`:
    whether it can say that a turn carries no loss; `joins`: whether it is written from messages, in
    which answers can be joined. `per_turn`: the form of rows that hold one turn with loss each.
    `chat`, `comparison` and `steps` read a loaded row as its consumer does, where the student's
    template renders it. `layout`: rows in parquet shards, in one parquet file, in JSON lines (one
    column, `line`), or each in a file of its own (`name` and `text`). `beside`: further files by
    name, from the names of the shards. `mark` says in a record whether its texts were changed
    (`neutralise`).
    """

    name: str
    columns: tuple[Column, ...]
    guide: str
    per_turn: "Form | None" = None
    arguments: Arguments = "json"
    masks: bool = False
    joins: bool = True
    holds: Callable[[Any], bool] = lambda value: True
    chat: Callable[[Mapping[str, Any]], Chat] | None = None
    comparison: Callable[[Mapping[str, Any]], Comparison] | None = None
    steps: Callable[[Mapping[str, Any]], Steps] | None = None
    unsaid: Callable[[Any], tuple[str, ...]] = lambda row: ()
    layout: Literal["shards", "one_shard", "lines", "files"] = "shards"
    beside: Callable[[tuple[str, ...]], Mapping[str, bytes]] = lambda shards: {}
    mark: Callable[[dict[str, Any], bool], dict[str, Any]] = lambda record, changed: record

    def record(self, row: Any) -> dict[str, Any]:
        """A row as it is written."""
        return {column.name: column.value(row) for column in self.columns}

    def schema(self) -> "pa.Schema | None":
        """The arrow schema of rows in parquet."""
        return schema(self.columns) if self.layout in ("shards", "one_shard") else None

    def training(self, folder: str) -> str:
        """How to use the rows, for the folder or repository that they are read from."""
        return self.guide.replace("FOLDER", folder)
