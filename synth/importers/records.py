"""What passes between reading a file and having trajectories: records, rejections, imported pairs,
labels.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from synth.schemas.canonical import content_hash
from synth.schemas.identity import trajectory_id
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory

WHOLE = "file"
"""The locator of a file as a whole. A rejection at it takes back everything that the file gave: a
damaged file leaves nothing behind.
"""


class Record(msgspec.Struct, frozen=True):
    """One JSON value of a file; `locator` is its place in it: 0-based index, `line` and its 1-based
    number, or `file`.

    `sha` is the hash of the file's unpacked content: the same records have the same ids, however
    they are named or packed. In a log that has grown since it was imported, old lines keep the hash
    of the file that they were first imported from. `content` is the hash of the canonical value:
    equal records have equal ones, wherever they stand. `replaced`: U+FFFD stands in it for lone
    surrogates.
    """

    file: str
    sha: str
    locator: str
    value: Any
    content: str = ""
    replaced: bool = False

    def part(self, place: str, value: Any) -> "Record":
        """A record inside this one, at a place such as `simulations/3`."""
        inside = place if self.locator == WHOLE else f"{self.locator}/{place}"
        return Record(self.file, self.sha, inside, value, content_hash(value))

    def ids(self, format: str) -> tuple[str, str]:
        """(slot_id, trajectory_id) of what stands here; exact duplicates at two places are two."""
        slot = content_hash(["import", format, self.sha, self.locator])
        return slot, trajectory_id(slot, 0)

    def source(self, format: str) -> str:
        """`<format>:<content hash of the file>:<locator>:<file name>`: provenance without a path of
        this machine.
        """
        return f"{format}:{self.sha}:{self.locator}:{self.file}"

    def rejected(self, reason: str, detail: str = "") -> "Rejection":
        """This record as one that does not come in."""
        return Rejection(self.file, self.locator, reason, one_line(detail))


class Rejection(msgspec.Struct, frozen=True):
    """Something that was found and does not come in; `reason` is a short stable name that becomes a
    counter.
    """

    file: str
    locator: str
    reason: str
    detail: str = ""


class Replaced(msgspec.Struct, frozen=True):
    """How many records of a file had lone surrogates, for which U+FFFD stands now, and the first of
    them.
    """

    file: str
    locator: str
    records: int


class Blamed(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a label blames for what stands in a message of the source."""

    message: int
    category: str | UnsetType | None = UNSET
    agent: str | None
    speaker: str | UnsetType | None = UNSET
    reason: str | None


class ImportedLabel(msgspec.Struct, frozen=True):
    """A label that the source gives to a trajectory or one of its turns; it becomes a row of
    `scores`.
    """

    metric: str
    value: float | None
    turn: int | None = None
    detail: dict[str, Any] | Blamed | None = None

    @property
    def blamed(self) -> str | None:
        """Whom it blames."""
        return self.detail.agent if isinstance(self.detail, Blamed) else None


class Imported(msgspec.Struct, frozen=True):
    """A trajectory with the task that it is an attempt at, and the labels that stand beside it in
    the source.

    `name` is what label files call it (`<format>/<id>`); `turn_of_message` maps the source's
    message indices to turns.
    """

    task: Task
    trajectory: Trajectory
    marks: tuple[ImportedLabel, ...] = ()
    name: str | None = None
    turn_of_message: tuple[int | None, ...] = ()


class Labelled(msgspec.Struct, frozen=True):
    """Labels of a file of their own, for the trajectory that calls itself `name`; `marks` gets its
    map from message to turn.
    """

    file: str
    locator: str
    sha: str
    name: str
    marks: Callable[[tuple[int | None, ...]], tuple[ImportedLabel, ...]]


class ImportSettings(msgspec.Struct, frozen=True):
    """`reward_threshold`: a reward of at least this is a success (published rewards may be
    composites in 0..1).
    """

    reward_threshold: float = 1.0
    max_record_bytes: int = 256 << 20
    """Of JSON text: parsed objects take about ten times as much memory."""

    def passed(self, reward: float | None, rounding: float = 0.0) -> bool | None:
        """Whether a reward is a success; None where there is none."""
        return None if reward is None else reward >= self.reward_threshold - rounding


Entry = Imported | Labelled | Rejection | Replaced
Importer = Callable[[Iterable[Record | Rejection], ImportSettings], Iterator[Entry]]
"""Reads the records of one file, streaming; rejections among them are handed on."""


def is_object(value: Any, *keys: str, **kinds: type) -> bool:
    """Whether a value is a JSON object with these keys, and with values of these types under
    others.
    """
    return (
        isinstance(value, Mapping)
        and all(key in value for key in keys)
        and all(isinstance(value.get(key), kind) for key, kind in kinds.items())
    )


class Format(msgspec.Struct, frozen=True):
    """A format that `synth import` reads. `recognises` sees one record's value, and must not
    raise.
    """

    recognises: Callable[[Any], bool]
    read: Importer


def each(
    records: Iterable[Record | Rejection], read: Callable[[Record], Entry | Iterable[Entry]]
) -> Iterator[Entry]:
    """Every record through `read`, which gives one entry or several; where it raises, the record is
    a `bad_record`.
    """
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue
        try:
            found = read(record)
            if isinstance(found, msgspec.Struct):
                yield found
            else:
                yield from found
        except ValueError as error:
            yield record.rejected("bad_record", str(error))
        except UNEXPECTED as error:
            yield record.rejected("bad_record", unexpected(error))


def by_record(
    recognises: Callable[[Any], bool],
    read: Callable[[Record, ImportSettings], Entry | Iterable[Entry]],
) -> Format:
    """A format each record of which stands for itself."""

    def entries(records: Iterable[Record | Rejection], settings: ImportSettings) -> Iterator[Entry]:
        yield from each(records, lambda record: read(record, settings))

    return Format(recognises, entries)


def joined_record(records: Sequence[Record], place: str) -> Record:
    """Several records of one file as one, at a place of its own."""
    last = records[-1]
    content = content_hash([record.content for record in records])
    return Record(last.file, last.sha, place, None, content)


UNEXPECTED = (TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What reading a value of another shape than a format's comes to."""


def unexpected(error: BaseException) -> str:
    """The detail of a rejection for a value of another shape."""
    return f"not the shape of this format: {type(error).__name__}: {error}"


def one_line(text: str) -> str:
    """Text for a rejection's detail: one line, at most 200 characters, valid UTF-8."""
    return " ".join(text.encode(errors="replace").decode().split())[:200]
