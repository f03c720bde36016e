"""Which row of labels belongs to which trajectory: by id, by the tail of a path, by a pattern.

A row belongs to the one trajectory that it fits. Where it fits several, those of its trial and then
those of its own folder are taken; where still several are left it is listed, and says nothing.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch

import msgspec

from synth.importers.chats.words import GENERAL
from synth.importers.labelling.rows import LabelRow
from synth.importers.records import Imported

_ENDINGS = re.compile(r"(\.(gz|bz2|xz|zst|jsonl?|traj|parquet|arrow|csv|ndjson|log|txt))+$", re.I)


class Labelable(msgspec.Struct, frozen=True):
    """A trajectory that labels may name: its slot, what it is called, and where it lies."""

    slot: str
    names: tuple[str, ...]
    path: str
    folder: str
    locator: str
    trial: int | None
    """As the source numbers it."""
    number: int
    """As the import numbers it."""

    @property
    def tails(self) -> tuple[str, ...]:
        """What its path calls it: its file without endings, and the folders that it lies in."""
        parts = [part for part in self.path.split("/") if part]
        stem = _ENDINGS.sub("", parts[-1]) if parts else ""
        return (stem, *reversed(parts[:-1]))


class Unmatched(msgspec.Struct, frozen=True):
    """A row of labels, or a trajectory, that nothing was found for."""

    what: str
    file: str
    locator: str
    keys: tuple[str, ...]
    why: str


class Matches(msgspec.Struct):
    """Rows by the slots of their trajectories, and what is left over."""

    rows: dict[str, LabelRow] = {}
    unmatched: list[Unmatched] = []
    labels: int = 0

    def notes(self) -> Iterator[str]:
        """Which column the verdicts were taken from, where its name may be that of anything."""
        taken = Counter(row.column for row in self.rows.values())
        for column in GENERAL:
            if taken[column]:
                yield (
                    f"column {column!r} is taken for the verdict of {taken[column]:,}; "
                    "--column success=NAME takes another one"
                )


def candidate(entry: Imported, path: str) -> Labelable:
    """What labels may call a trajectory that lies at a path of this machine."""
    source = entry.trajectory.source or ""
    locator = source.split(":", 3)[2] if source.count(":") >= 3 else ""
    declared = entry.declared[0]
    own = (locator,) if source.startswith("synth:") else ()  # its id in the run that it is from
    return Labelable(
        entry.trajectory.slot_id,
        (entry.trajectory.trajectory_id, entry.trajectory.task_id, *own, *entry.names),
        path,
        path.rpartition("/")[0],
        locator,
        declared if type(declared) is int else None,
        entry.trajectory.trial,
    )


def matched(
    rows: Iterable[LabelRow], candidates: Sequence[Labelable], key: re.Pattern[str] | None = None
) -> Matches:
    """Every row with its trajectory. `key` takes a name out of a path: its first group, or all of
    what it finds.
    """
    index = _index(candidates, key)
    found = Matches()
    claimed: dict[str, list[LabelRow]] = defaultdict(list)

    for row in rows:
        found.labels += 1
        fits = _fitting(row, candidates, index)
        if row.pattern is None and len(fits) > 1:
            fits = _narrowed(row, fits)
        if not fits or (row.pattern is None and len(fits) > 1):
            why = f"fits {len(fits)} trajectories" if fits else "no trajectory is called so"
            place = row.record
            keys = row.keys or (row.pattern or "",)
            found.unmatched.append(Unmatched("label", place.file, place.locator, keys, why))
            continue
        for one in fits:
            claimed[one.slot].append(row)

    _settle(found, candidates, claimed)
    return found


def _settle(
    found: Matches, candidates: Sequence[Labelable], claimed: dict[str, list[LabelRow]]
) -> None:
    """One row for each trajectory: rows that agree are one, rows that add up are joined."""
    for one in candidates:
        rows = claimed.get(one.slot, [])
        joined = _joined(rows)
        if joined is not None:
            found.rows[one.slot] = joined
            continue
        why = "no label names it"
        if rows:
            why = f"{len(rows)} labels contradict each other"
        names = one.names[2:] or one.tails[:1]
        found.unmatched.append(Unmatched("trajectory", one.path, one.locator, names, why))


def _joined(rows: Sequence[LabelRow]) -> LabelRow | None:
    """One row of several; None where two of them say different things of one matter."""
    if not rows:
        return None
    result = msgspec.structs.replace(rows[0])
    for row in rows[1:]:
        for field in ("success", "reward", "split", "no_verdict"):
            held, told = getattr(result, field), getattr(row, field)
            if held is not None and told is not None and held != told:
                return None
            setattr(result, field, told if held is None else held)
        result.marks += tuple(mark for mark in row.marks if mark not in result.marks)
        result.steps += tuple(step for step in row.steps if step not in result.steps)

    return result


def _index(
    candidates: Sequence[Labelable], key: re.Pattern[str] | None
) -> dict[str, dict[str, list[Labelable]]]:
    """Trajectories by what they call themselves, and by what their paths call them."""
    index: dict[str, dict[str, list[Labelable]]] = {"id": {}, "tail": {}, "base": {}}

    for one in candidates:
        taken = key.search(f"{one.path}") if key is not None else None
        names = (*one.names, *([taken[1 if taken.re.groups else 0]] if taken else ()))
        for name in dict.fromkeys(names):
            index["id"].setdefault(name, []).append(one)
        for tail in dict.fromkeys(one.tails):
            index["tail"].setdefault(tail, []).append(one)
        index["base"].setdefault(one.path.rpartition("/")[2], []).append(one)

    return index


def _fitting(
    row: LabelRow, candidates: Sequence[Labelable], index: dict[str, dict[str, list[Labelable]]]
) -> list[Labelable]:
    """The trajectories that a row could mean, by the first of its keys that fits any."""
    if row.pattern is not None:
        return [one for one in candidates if _fits(row.pattern, one)]
    for key in row.keys:
        for named in (index["id"].get(key), list(_by_path(key, index)), index["tail"].get(key)):
            found = [
                one for one in named or () if row.trial in (None, one.trial) or one.trial is None
            ]
            if found:
                return found

    return []


def _by_path(key: str, index: dict[str, dict[str, list[Labelable]]]) -> Iterator[Labelable]:
    """Those whose path has the longest tail with the key in common; `path#locator`: one record."""
    path, _, locator = key.replace("\\", "/").partition("#")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts:
        return
    near = index["base"].get(parts[-1], [])
    stem = _ENDINGS.sub("", parts[-1])
    if not near:  # the same file with other endings
        near = [one for one in index["tail"].get(stem, []) if one.tails[0] == stem]

    def common(one: Labelable) -> int:
        theirs = [part for part in one.path.split("/") if part]
        theirs[-1:] = [parts[-1]]
        same = 0
        while same < min(len(parts), len(theirs)) and parts[-1 - same] == theirs[-1 - same]:
            same += 1
        return same

    longest = max((common(one) for one in near), default=0)
    for one in near:
        if common(one) == longest and (not locator or one.locator == locator):
            yield one


def _fits(pattern: str, one: Labelable) -> bool:
    """Whether a glob, or a regular expression after `re:`, fits an id or a path."""
    told = (*one.names, one.path, *one.tails)
    if pattern.startswith("re:"):
        return any(re.search(pattern[3:], text) for text in told)
    return any(fnmatch(text, pattern) or fnmatch(text, f"*/{pattern}") for text in told)


def _narrowed(row: LabelRow, fits: list[Labelable]) -> list[Labelable]:
    """Those of the row's trial, then those that lie where its file does."""
    if row.trial is not None:
        of_trial = [
            one for one in fits if row.trial == (one.number if one.trial is None else one.trial)
        ]
        fits = of_trial or fits
    if len(fits) > 1:
        folder = row.record.file.rpartition("/")[0]
        beside = [one for one in fits if folder and _below(one.folder, folder)]
        fits = beside or fits

    return fits


def _below(folder: str, other: str) -> bool:
    return f"/{folder}/".endswith(f"/{other}/") or f"/{other}/" in f"/{folder}/"
