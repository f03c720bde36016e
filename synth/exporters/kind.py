"""What a kind of data set and a form of its rows are made of."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from synth.datasets.release import CHATS, KindRule
from synth.exporters.forms.columns import Column, schema
from synth.exporters.settings import Arguments
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory
from synth.text.transcript.message_texts import Change

if TYPE_CHECKING:
    import pyarrow as pa

    from synth.exporters.tally import ExportCounts
    from synth.ledger.ledger import Ledger


class Row(Protocol):
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
