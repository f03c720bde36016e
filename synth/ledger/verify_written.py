"""Datasets, report, cost and flow compared with the manifest lines that name them."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from synth.ledger.manifest import WrittenFile, WrittenLine
from synth.ledger.state import LedgerState
from synth.ledger.storage import TEMPORARY, Storage
from synth.ledger.written import CARD, DATASETS, fault

if TYPE_CHECKING:
    from synth.ledger.verify import Verified

SINGLE = ("flow.yaml", "cost.json", "report.html")
LIVE = (
    "workers, claims (who is at work, replaced every few seconds), logs, and what lies "
    "beside the run's own files"
)
"""What a run holds and no line names."""
NAMING = 2
"""The format of runs from which on a file that no line names is none of theirs."""
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
    found = [*_differing(storage, state, verified), *_unnamed(storage, state, verified)]
    if unread and found:
        verified.notes.append(
            "not compared, since manifest lines that nobody can read may name them as they are: "
            + "; ".join(found[:20])
        )
    else:
        yield from found


def _differing(storage: Storage, state: LedgerState, verified: "Verified") -> Iterator[str]:
    belongs = {
        file.sha256: path for line in state.written.values() for path, file in line.files.items()
    }
    for place, line in sorted(state.written.items()):
        for path, file in line.files.items() if line.folder else ((place, line.files[place]),):
            verified.written += 1
            verified.written_bytes += file.bytes
            wrong = fault(storage, path, file)
            if wrong is not None:
                yield f"{_place(storage, path)}: {_why(storage, state, line, path, wrong, belongs)}"


def _why(
    storage: Storage,
    state: LedgerState,
    line: WrittenLine,
    path: str,
    wrong: str,
    belongs: dict[str, str],
) -> str:
    """What is wrong with a file, and what to do."""
    again = mend(line, path)
    if state.is_unfinished(line):
        return f"unfinished: it was named, and its writing was interrupted before it stood; {again}"
    if not wrong.startswith("damaged"):
        return f"{wrong}; {again}"
    held = storage.sha256(path)
    if held in state.formerly[path]:
        return (
            "holds an earlier version than the manifest names last (put back, or its "
            f"replacement was interrupted: unfinished); {again}"
        )
    if held in belongs:
        return f"holds what belongs at {belongs[held]}; {again}"
    if path.endswith(f"/{CARD}"):
        return (
            f"edited by hand, or {wrong}; keep a copy, then have it written anew: run the flow "
            "again with --set "
            "stages.export.overwrite=true"
        )
    return f"{wrong}; {again}"


def mend(line: WrittenLine, path: str) -> str:
    """How a file comes to be again as it was written."""
    if path == "report.html":
        return "`synth report RUN` writes it anew"
    if not line.folder:
        return "run the flow again, which writes it anew"
    return (
        f"run the flow {line.flow!r} again, which writes it anew"
        if line.stage
        else "export it again with --overwrite"
    )


def _place(storage: Storage, name: str) -> str:
    """Where a name lies, for people to read; nothing is opened there."""
    place = f"{storage.root}/{name}"
    return place if storage.local else str(storage.fs.unstrip_protocol(place))


def _unnamed(storage: Storage, state: LedgerState, verified: "Verified") -> Iterator[str]:
    """Files in the folder of datasets, or in the place of a report, that no line names; in runs of
    earlier versions a note names them.
    """
    named: dict[str, WrittenFile] = {
        path: file for line in state.written.values() for path, file in line.files.items()
    }
    by_digest = {file.sha256: path for path, file in named.items()}
    lying = [path for path in storage.tree(DATASETS) if path not in named]
    unnamed = [
        path
        for path in lying
        if not _ASIDE.search(path) and not path.rpartition("/")[2].startswith(TEMPORARY)
    ]
    unnamed += [
        path
        for path in SINGLE
        if path not in named and (storage.is_link(path) or storage.size(path) is not None)
    ]
    half = len(lying) - len([path for path in unnamed if path.startswith(f"{DATASETS}/")])
    if half:
        verified.notes.append(
            f"{_place(storage, DATASETS)}: {half} half-written files of an export that is at work "
            "or was killed; never read"
        )
    if state.format < NAMING:
        if unnamed:
            verified.notes.append(_not_compared(storage, unnamed))
        return
    for path in unnamed:
        yield f"{_place(storage, path)}: {_foreign(storage, state, path, by_digest)}"


def _not_compared(storage: Storage, paths: Sequence[str]) -> str:
    named = ", ".join(paths[:20]) + (f" and {len(paths) - 20} more" if len(paths) > 20 else "")
    return (
        f"{storage.url}: not compared, since the version of synth that wrote them committed no "
        f"digests of them: {named}; "
        "run the flow again to have them committed"
    )


def _foreign(storage: Storage, state: LedgerState, path: str, by_digest: dict[str, str]) -> str:
    if path in state.formerly:
        if any(
            state.is_unfinished(line)
            for place, line in state.written.items()
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
    belongs = by_digest.get(storage.sha256(path)) if storage.is_plain(path) else None
    if belongs is not None:
        return (
            f"no manifest line names it: a copy of {belongs} under another name; move it "
            "back, or away"
        )
    return (
        "no manifest line names it: synth did not write it there; move it away before anybody "
        "reads the folder"
    )
