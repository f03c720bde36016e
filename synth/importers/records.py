"""What passes between reading a file and having trajectories: records, rejections, imported
attempts, labels, formats.
"""

import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from synth.schemas import Task, Trajectory, content_hash

WHOLE = "file"
"""The locator of a file as a whole. A rejection at it takes back everything that the file gave: a
damaged file leaves nothing behind.
"""

Object = dict[str, Any]
"""A JSON object."""
WORDS: Object = tomllib.loads((files("synth.importers") / "words.toml").read_text("utf-8"))
"""The words of the sources, by format, as `words.toml` lists them."""
UNEXPECTED = (TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What reading a value of another shape than a format's comes to."""


class Rejection(msgspec.Struct, frozen=True):
    """Something that was found and does not come in; `reason` is a short stable name that becomes a
    counter.
    """

    file: str
    locator: str
    reason: str
    detail: str = ""


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

    def parts(self, place: str, values: Iterable[Any]) -> "Iterator[Record]":
        """The records of a list inside this one."""
        return (self.part(f"{place}/{index}", value) for index, value in enumerate(values))

    @property
    def file_name(self) -> str:
        """The file's name without its folders."""
        return self.file.rpartition("/")[2]

    def rejected(self, reason: str, detail: str = "") -> Rejection:
        """This record as one that does not come in."""
        return Rejection(self.file, self.locator, reason, one_line(detail))


def joined_record(records: Sequence[Record], place: str, value: Any) -> Record:
    """Several records of one file as one, at a place of its own."""
    last = records[-1]
    content = content_hash([record.content for record in records])
    return Record(last.file, last.sha, place, value, content)


class Replaced(msgspec.Struct):
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
    `scores`. `score` is what the source calls it, where it is somebody's score of the whole: that
    may be a verdict.
    """

    metric: str
    value: float | None
    turn: int | None = None
    detail: dict[str, Any] | Blamed | None = None
    score: str | None = None

    @property
    def blamed(self) -> str | None:
        """Whom it blames."""
        return self.detail.agent if isinstance(self.detail, Blamed) else None


class Imported(msgspec.Struct, frozen=True):
    """A trajectory with the task that it is an attempt at, and the labels that stand beside it in
    the source.

    `name` is what label files call it (`<format>/<id>`); `turn_of_message` maps the source's
    message indices to turns; `declared` are the `trial` and the `task_id` that its record has;
    `names` is what the record calls itself, by which `--labels` finds it.
    """

    task: Task
    trajectory: Trajectory
    marks: tuple[ImportedLabel, ...] = ()
    name: str | None = None
    turn_of_message: tuple[int | None, ...] = ()
    declared: tuple[Any, Any] = (None, None)
    names: tuple[str, ...] = ()


class Labelled(msgspec.Struct, frozen=True):
    """Labels of a file of their own, for the trajectory that calls itself `name`; `marks` gets its
    map from message to turn.
    """

    record: Record
    name: str
    marks: Callable[[tuple[int | None, ...]], tuple[ImportedLabel, ...]]


class ImportSettings(msgspec.Struct, frozen=True):
    """`reward_threshold`: a reward of at least this is a success (published rewards may be
    composites in 0..1).
    """

    reward_threshold: float = 1.0
    max_record_bytes: int = 256 << 20
    """Of JSON text: parsed objects take about ten times as much memory."""
    columns: dict[str, str] = {}
    """The keys, or paths, under which records have what they are read by (`--column`)."""

    def passed(self, reward: float | None, rounding: float = 0.0) -> bool | None:
        """Whether a reward is a success; None where there is none."""
        return None if reward is None else reward >= self.reward_threshold - rounding


Entry = Imported | Labelled | Rejection | Replaced
Found = Entry | Iterable[Entry] | None
Records = Iterable[Record | Rejection]


class Format(msgspec.Struct, frozen=True):
    """A format that `synth import` reads. `recognises` sees one record's value, and must not raise;
    `read` gets the records of one file, streaming, and hands rejections among them on.
    """

    recognises: Callable[[Any], bool]
    read: Callable[[Records, ImportSettings], Iterator[Entry]]


def by_record(
    recognises: Callable[[Any], bool],
    read: Callable[[Record, ImportSettings], Found],
    number: Callable[[Iterator[Entry]], Iterator[Entry]] = iter,
) -> Format:
    """A format each record of which stands for itself; `number` gives attempts their trials."""

    def entries(records: Records, settings: ImportSettings) -> Iterator[Entry]:
        return number(each(records, lambda record: read(record, settings)))

    return Format(recognises, entries)


def in_runs(records: Records, begins: Callable[[Any], bool]) -> "Iterator[Record | Rejection]":
    """The records of a file as one for each run of them, from one whose value `begins` it up to the
    next: the list of their values, at the place of the first.
    """
    run: list[Record] = []
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue
        if run and begins(record.value):
            yield _run(run)
            run = []
        run.append(record)

    if run:
        yield _run(run)


def _run(records: Sequence[Record]) -> Record:
    return joined_record(records, records[0].locator, [record.value for record in records])


def each(records: Records, read: Callable[[Record], Found]) -> Iterator[Entry]:
    """Every record through `read`, which gives one entry, several or none; where it raises, the
    record is a `bad_record`.
    """
    for record in records:
        if isinstance(record, Rejection):
            yield record
            continue

        try:
            found = read(record) or ()
            if isinstance(found, msgspec.Struct):
                yield found
            else:
                yield from found
        except (ValueError, *UNEXPECTED) as error:
            yield record.rejected("bad_record", explained(error))


def explained(error: BaseException) -> str:
    """An error as the detail of a rejection."""
    if isinstance(error, ValueError):
        return str(error)
    return f"not the shape of this format: {type(error).__name__}: {error}"


def one_line(text: str) -> str:
    """Text for a rejection's detail: one line, at most 200 characters, valid UTF-8."""
    return " ".join(text.encode(errors="replace").decode().split())[:200]


def is_object(value: Any, *keys: str, **kinds: type) -> bool:
    """Whether a value is a JSON object with these keys, and with values of these types under
    others.
    """
    return (
        isinstance(value, dict)
        and all(key in value for key in keys)
        and all(isinstance(value.get(key), kind) for key, kind in kinds.items())
    )


def first_of(value: Object, keys: Iterable[str], kind: type = object) -> Any:
    """What stands under the first of the keys that hold something of that kind; None where none
    does.
    """
    held = (value.get(key) for key in keys)
    return next((one for one in held if one is not None and isinstance(one, kind)), None)


def number_in(value: Any) -> float | None:
    """A number as a score; None for any other value."""
    return float(value) if isinstance(value, int | float) else None


def scored(metric: str, value: Any, about: Object, score: str | None) -> ImportedLabel:
    """A score as a label: its number, and what else is said `about` it, as far as anything is."""
    told = {key: one for key, one in about.items() if one}
    return ImportedLabel(metric, number_in(value), None, told or None, score)


def first_inside(value: Any, paths: Iterable[str], kind: type = object) -> Any:
    """What stands at the first of the paths at which anything of a kind is said; None where nothing
    is.
    """
    return next(filter(None, (inside(value, path, kind) for path in paths)), None)


def inside(value: Any, path: str, kind: type = object) -> Any:
    """What stands at a path such as `choices.0.message` in a JSON value; None where nothing of that
    kind does.
    """
    for key in path.split("."):
        try:
            value = value[int(key) if isinstance(value, list) else key]
        except (TypeError, ValueError, LookupError):
            return None

    return value if isinstance(value, kind) else None
