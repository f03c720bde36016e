"""Datasets, report, cost and flow compared with the manifest lines that name them."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from synth.ledger.log.manifest import WrittenFile, WrittenLine
from synth.ledger.log.state import LedgerState
from synth.ledger.storage import TEMPORARY, Storage

if TYPE_CHECKING:
    from synth.ledger.log.verify import Verified

DATASETS = "datasets"
CARD = "README.md"
SINGLE = ("flow.yaml", "cost.json", "report.html")
LIVE = (
    "workers, claims (who is at work, replaced every few seconds), logs, and what lies "
    "beside the run's own files"
)
"""What a run holds and no line names."""
NAMING = 2
"""The format of runs from which on a file that no line names is none of theirs."""
NAMED = 20
"""Files in one note."""
_ASIDE = re.compile(r"\.(?:[^/]*\.)?partial-[0-9]+(?:/|$)")
"""Where exports and reports are written before they are put in their place."""


def written_problems(
    storage: Storage, state: LedgerState, verified: "Verified", unread: Sequence[int]
) -> Iterator[str]:
    """A line for each file that is not what the last line of it says, and for each in a dataset's
    place that none names.

    Where lines of the manifest are `unread`, they may have named what does not fit: that is a note,
    since the lines are told themselves.
    """
    verified.written = verified.written_bytes = 0
    verified.notes.clear()
    files = _WrittenFiles(storage, state, verified)
    found = [*files.differing(), *files.unnamed()]
    if unread and found:
        verified.notes.append(
            "not compared, since manifest lines that nobody can read may name them as they are: "
            + "; ".join(found[:NAMED])
        )
    else:
        yield from found


class _WrittenFiles:
    """The files beside the tables, as the manifest names them last; `_belongs`: digest -> path."""

    def __init__(self, storage: Storage, state: LedgerState, verified: "Verified") -> None:
        self._storage, self._state, self._verified = storage, state, verified
        lines = state.written.values()
        self._named = {path: file for line in lines for path, file in line.files.items()}
        self._belongs = {file.sha256: path for path, file in self._named.items()}

    def differing(self) -> Iterator[str]:
        """A line for each named file that does not stand as it was written."""
        for place, line in sorted(self._state.written.items()):
            for path in line.files if line.folder else [place]:
                self._verified.written += 1
                self._verified.written_bytes += line.files[path].bytes
                wrong = fault(self._storage, path, line.files[path])
                if wrong is not None:
                    yield f"{self._place(path)}: {self._why(line, path, wrong)}"

    def _why(self, line: WrittenLine, path: str, wrong: str) -> str:
        """Says how a file differs, and how to mend it."""
        held = self._storage.sha256(path) if wrong.startswith("damaged") else ""
        if self._is_unfinished(line):
            wrong = "unfinished: it was named, and its writing was interrupted before it stood"
        elif held in self._state.formerly[path]:
            wrong = (
                "holds an earlier version than the manifest names last (put back, or its "
                "replacement was interrupted: unfinished)"
            )
        elif held in self._belongs:
            wrong = f"holds what belongs at {self._belongs[held]}"
        elif held and path.endswith(f"/{CARD}"):
            return (
                f"edited by hand, or {wrong}; keep a copy, then have it written anew: run the flow "
                "again with --set stages.export.overwrite=true"
            )
        return f"{wrong}; {mend(line, path)}"

    def _is_unfinished(self, line: WrittenLine) -> bool:
        """Whether the stage that named these files has not said since that they stand."""
        return bool(line.stage) and (line.stage, line.stage_key) not in self._state.done

    def unnamed(self) -> Iterator[str]:
        """Files in the folder of datasets, or in the place of a report, that no line names; in runs
        of earlier versions a note names them.
        """
        storage, notes = self._storage, self._verified.notes
        lying = [path for path in storage.tree(DATASETS) if path not in self._named]
        found = [
            path
            for path in lying
            if not _ASIDE.search(path) and not path.rpartition("/")[2].startswith(TEMPORARY)
        ]
        half = len(lying) - len(found)
        found += [
            path
            for path in SINGLE
            if path not in self._named and (storage.is_link(path) or storage.size(path) is not None)
        ]
        if half:
            notes.append(
                f"{self._place(DATASETS)}: {half} half-written files of an export that is at work "
                "or was killed; never read"
            )
        if self._state.format >= NAMING:
            yield from (f"{self._place(path)}: {self._foreign(path)}" for path in found)
        elif found:
            more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
            notes.append(
                f"{storage.url}: not compared, since the version of synth that wrote them "
                f"committed no digests of them: {', '.join(found[:NAMED])}{more}; run the flow "
                "again to have them committed"
            )

    def _foreign(self, path: str) -> str:
        if path in self._state.formerly:
            if any(
                self._is_unfinished(line)
                for place, line in self._state.written.items()
                if path.startswith(f"{place}/")
            ):
                return (
                    "unfinished: it belongs to the dataset that is being replaced here; run the "
                    "flow again, which removes it"
                )
            return (
                "no manifest line names it any more: it is of an earlier dataset and was put "
                "back; move it away"
            )
        held = self._storage.sha256(path) if self._storage.is_plain(path) else ""
        if held in self._belongs:
            return (
                f"no manifest line names it: a copy of {self._belongs[held]} under another name; "
                "move it back, or away"
            )
        return (
            "no manifest line names it: synth did not write it there; move it away before anybody "
            "reads the folder"
        )

    def _place(self, name: str) -> str:
        """Where a name lies, for people to read; nothing is opened there."""
        place = f"{self._storage.root}/{name}"
        return place if self._storage.local else str(self._storage.fs.unstrip_protocol(place))


def fault(storage: Storage, name: str, file: WrittenFile, *, thorough: bool = True) -> str | None:
    """Says how a file differs from what was written, None where it does not; without `thorough`
    only a local one is read whole.
    """
    size = None if storage.is_link(name) else storage.size(name)
    if storage.is_link(name) or (size is not None and not storage.is_plain(name)):
        return "no file of its own but a link, a folder or a device"
    if size is None:
        return "missing"
    if size != file.bytes:
        return f"damaged ({size:,} bytes instead of {file.bytes:,})"
    if (thorough or storage.local) and storage.sha256(name) != file.sha256:
        return "damaged (its bytes are not those that were written)"
    return None


def mend(line: WrittenLine, path: str) -> str:
    """How a file comes to be again as it was written."""
    if path == "report.html":
        return "`synth report RUN` writes it anew"
    if not line.folder:
        return "run the flow again, which writes it anew"
    if not line.stage:
        return "export it again with --overwrite"
    return f"run the flow {line.flow!r} again, which writes it anew"
