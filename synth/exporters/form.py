"""What a form of rows is made of: a table of columns (`exporters/data/forms`), and how its consumer
reads a row again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from synth.exporters import facts
from synth.exporters.exact_json import plain_text, text
from synth.schemas import Message, given
from synth.text.data_files import read as read_file

if TYPE_CHECKING:
    import pyarrow as pa

Arguments = Literal["json", "dict"]
"""Tool-call arguments as the JSON text that was received, or as an object."""
Cut = Literal["context", "per_turn"]
"""One row per run of trained turns, with what stands before them in the prompt (of most
trajectories all is one run); or one per trained turn.
"""
Value = Callable[[Any], Any]


class NotRepresentableError(Exception):
    """A row that a form has no place for; `reason` is a short stable name that becomes a
    counter.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Column(NamedTuple):
    """A column of a form; `value` makes what stands in it of a row.

    `kind`: one of Arrow's names ("string", "int32"), "json", a list `[kind]`, or a struct `{name:
    kind}`.
    """

    name: str
    kind: Any
    value: Value


class Chat(msgspec.Struct, frozen=True):
    """A row as its consumer reads it: `trained` are the assistant messages that it puts loss on."""

    messages: list[Message]
    tools: list[dict[str, Any]]
    trained: tuple[int, ...]

    @property
    def conversations(self) -> tuple[list[Message], ...]:
        """The conversations that a template renders."""
        return (self.messages,)


class Comparison(msgspec.Struct, frozen=True):
    """A row as a preference trainer reads it: `sides` are the assistant messages that it weighs,
    each by itself after the prompt.
    """

    prompt: list[Message]
    sides: tuple[Message, ...]
    tools: list[dict[str, Any]]

    @property
    def conversations(self) -> tuple[list[Message], ...]:
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
    messages: list[Message]
    step_messages: list[Message]
    tools: list[dict[str, Any]]

    @property
    def conversations(self) -> tuple[list[Message], ...]:
        """The prompt with all steps behind it."""
        return ([*self.messages, *self.step_messages],)


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """How one consumer reads rows of a kind.

    A column raises `NotRepresentableError` for a row that has no place in the form. `guide` is the
    section of the card that says how to use the rows. `cuts`: the forms of rows that are no whole
    trajectories; of those with a context, where a form is `begun`, the rows end before the first
    turn without loss, and what is behind that is left out.
    `arguments`: of calls, as the consumer wants them; `holds`: whether its loader gives a JSON
    value back unchanged. `masks`: whether it can say that a turn carries no loss; `joins`: whether
    it is written from messages, in which answers can be joined. `layout`: rows in parquet shards,
    in one parquet file, in JSON lines (one column, `line`), or each in a file of its own (`name`
    and `text`); `parted_by`: the column by whose values shards are parted; `beside`: further files
    by name, from the names of the shards. `read` reads a loaded row as its consumer does, where the
    student's template renders it. `told`: what a row tells, of which the facts in `lacks` have no
    place; `loses`: what else of a row is lost.
    """

    name: str
    columns: tuple[Column, ...]
    guide: str
    cuts: "Mapping[Cut, Form]" = {}
    begun: bool = False
    arguments: Arguments = "json"
    holds: Callable[[Any], bool] = lambda value: True
    masks: bool = False
    joins: bool = True
    layout: Literal["shards", "one_shard", "lines", "files"] = "shards"
    parted_by: str | None = None
    beside: Callable[[Sequence[str]], Mapping[str, bytes]] = lambda shards: {}
    read: Callable[[Mapping[str, Any]], Any] | None = None
    told: Callable[[Any], facts.RenderedChat] | None = None
    lacks: tuple[str, ...] = ()
    loses: Callable[[Any], tuple[str, ...]] = lambda row: ()

    @property
    def in_parquet(self) -> bool:
        """Whether its rows lie in columns."""
        return self.layout in ("shards", "one_shard")

    def record(self, row: Any) -> dict[str, Any]:
        """A row as it is written."""
        return {column.name: column.value(row) for column in self.columns}

    def unsaid(self, row: Any) -> tuple[str, ...]:
        """What of a row is lost in the form, by name."""
        there = {} if self.told is None else facts.facts(self.told(row))
        return (*(name for name in self.lacks if name in there), *self.loses(row))

    def schema(self) -> "pa.Schema | None":
        """The arrow schema of rows in parquet, with the features that `datasets` looks for in the
        metadata of a file where columns are JSON.
        """
        if not self.in_parquet:
            return None

        from datasets import Features

        # only JSON columns need the features, and without them any reader takes the file
        kinds = {column.name: column.kind for column in self.columns}
        found: pa.Schema = Features(_feature(kinds)).arrow_schema

        return found if ["json"] in kinds.values() else found.remove_metadata()

    def training(self, folder: str) -> str:
        """How to use the rows, for the folder or repository that they are read from."""
        return self.guide.replace("FOLDER", folder)


def form(consumer: str, kind: str, values: Mapping[str, Value], **behaviour: Any) -> Form:
    """The form of a kind that stands in `data/forms/CONSUMER.yaml`; `values` computes columns that
    are no attributes of a row, `behaviour` are further fields of `Form`.
    """
    told = {**table(consumer)[kind], **behaviour}
    told["columns"] = tuple(_columns(told["columns"], values))
    told["lacks"] = tuple(getattr(facts, name) for name in told.get("lacks", ()))
    # where a message itself says whether it carries loss, rows of one turn need no other form
    alike = told.pop("turns_alike", False)
    found = Form(name=consumer, **told)
    return msgspec.structs.replace(found, cuts={"per_turn": found}) if alike else found


def table(consumer: str) -> dict[str, Any]:
    """All that the file of a consumer says."""
    return read_file(f"exporters/data/forms/{consumer}.yaml", dict[str, Any])


def _columns(groups: Sequence[Mapping[str, Any]], values: Mapping[str, Value]) -> Iterator[Column]:
    for group in groups:
        owner = f"{group['from']}." if "from" in group else ""

        for said, kind in group.items():
            # what the form computes comes before what the row holds under that name
            attribute, _, renamed = said.partition(" as ")
            name = renamed or attribute
            value = values.get(name) or partial(_at, (owner + attribute).split("."))

            if kind == "messages":  # JSON that `datasets` decodes
                kind, value = ["json"], _after(value, _json_texts)
            elif kind == "text":
                kind, value = "string", _after(value, plain_text)

            if name != "from":
                yield Column(name, kind, value)


def _at(path: Sequence[str], found: Any) -> Any:
    """What a row holds at a path of attributes and keys; None where a label does not set it."""
    for name in path:
        found = found[name] if isinstance(found, Mapping) else getattr(found, name)

    return given(found)


def _after(value: Value, written: Value) -> Value:
    return lambda row: written(value(row))


def _json_texts(messages: Sequence[Message]) -> list[str]:
    return [text(said(message)) for message in messages]


def said(message: Message) -> Message:
    """A message that says nothing beside its calls says "": of null, some chat templates make the
    word None, or an error.
    """
    return message | {"content": ""} if message["content"] is None else message


def _feature(kind: Any) -> Any:
    from datasets import Json, List, Value

    match kind:
        case [inner]:
            return List(_feature(inner))
        case Mapping():
            return {name: _feature(inner) for name, inner in kind.items()}

    return Json() if kind == "json" else Value(kind)
