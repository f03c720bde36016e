"""What a person must be told about a data set: in which respects it is not what one expects, the
loudest first. The texts stand in `data/notes.yaml`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from synth.exporters.tally import ExportCounts
from synth.loss_turns import EVIDENCE
from synth.schemas.yaml_text import read_yaml

_MOST_TOKENS = 5


@cache
def _texts() -> Mapping[str, Mapping[str, Any]]:
    text = files("synth.exporters").joinpath("data/notes.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Any]] = read_yaml(text, "notes.yaml")
    return found


class _Words(dict[str, Any]):
    """What stands for the names in braces: a setting where nothing else does."""

    def __init__(self, say: Callable[[str], str], **known: Any) -> None:
        super().__init__(known)
        self._say = say

    def __missing__(self, name: str) -> str:
        return self._say(name)


def notes(tally: ExportCounts) -> list[str]:
    """One line each."""
    return [*_counted(tally, "warnings"), *_remarks(tally)]


def _counted(tally: ExportCounts, group: str) -> Iterator[str]:
    """A line for each count of a group that is not 0."""
    counts, settings, form = tally.counts, tally.settings, tally.form
    outcomes, methods = tally.composition["outcome"], tally.composition["synthesizer"]
    chats = tally.kind.name == "sft"
    found: dict[str, int] = {
        **counts,
        "unfinished": tally.unfinished is not None,
        "scripted": tally.composition["authorship"]["scripted"],
        "benchmark": tally.rows - tally.composition["benchmark"]["none"],
        "evidence": chats and sum(map(methods.__getitem__, EVIDENCE)),
        "unsolved": chats and tally.rows - outcomes["success"],
        "without_place": not form.masks and counts["with_masks"],
        "joins_nothing": settings.join_answers and not form.joins,
    }
    share = counts["recovery_loss_characters"] / max(1, counts["loss_characters"])
    words = _Words(
        tally.say,
        rows=tally.rows,
        unfinished=tally.unfinished,
        tokens=_tokens(tally),
        share=f"{share:.1%}",
        form=form.name,
    )
    for name, text in _texts()[group].items():
        if found.get(name):
            words["n"] = found[name]
            yield text.format_map(words)


def _tokens(tally: ExportCounts) -> str:
    """The most frequent ones, and in how many rows."""
    found = sorted(tally.control_tokens.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"`{what}` ({count})" for what, count in found[:_MOST_TOKENS])
    return f"{named} and {len(found) - _MOST_TOKENS} more" if len(found) > _MOST_TOKENS else named


def _remarks(tally: ExportCounts) -> Iterator[str]:
    for remedied in _texts()["remedies"]:
        found = sorted(reason for reason in tally.left_out if remedy(reason) == remedied)
        if found:  # in Markdown, a token such as <s> would strike through what follows
            quoted = {
                reason: f"`{reason}`" if reason.startswith("control_tokens:") else reason
                for reason in found
            }
            counted = ", ".join(f"{tally.left_out[one]} as {text}" for one, text in quoted.items())
            yield f"Left out: {counted}; {told_remedy(tally, remedied)}{_then(tally, found)}."
    for left, count in sorted(tally.left_out.items()):
        if left.rpartition(":")[2] in _texts()["meanings"]:
            yield f"Left out: {count} as {named(tally, left)}."
    yield from losses(tally)
    yield from _counted(tally, "remarks")
    yield from tally.aside.lines()
    yield from tally.remarks
    yield from _counted(tally, "last")


def _then(tally: ExportCounts, reasons: Sequence[str]) -> str:
    """What such rows would be left out for once they are taken in, with what changes that."""
    behind = sum((tally.behind.get(reason, Counter()) for reason in reasons), Counter[str]())
    by_remedy: dict[str, list[str]] = {}
    for reason in sorted(behind):
        by_remedy.setdefault(remedy(reason) or reason, []).append(reason)
    told = ""
    for *same, last in by_remedy.values():
        counted = [f"{behind[reason]} as {reason}" for reason in same]
        told += f"; then {', '.join([*counted, f'{behind[last]} as {named(tally, last)}'])}"
    return told


def losses(tally: ExportCounts) -> list[str]:
    """What the form has no place for, one line for all that is lost of the same number of rows."""
    by_count: dict[int, list[str]] = {}
    for what, count in sorted(tally.unsaid.items()):
        by_count.setdefault(count, []).append(what)
    return [
        f"{tally.form.name} cannot say, of {count} of {tally.rows} rows: {'; '.join(names)}."
        for count, names in sorted(by_count.items(), reverse=True)
    ]


def deciding(tally: ExportCounts) -> tuple[str, int] | None:
    """Of an export without rows: the reason that decides and its count, None where there was
    nothing to export.

    What the form itself has no place for decides, as no other setting brings it in; else the most
    common reason of what passed the filters.
    """
    reasons, form = tally.left_out or tally.filtered, tally.form.name
    unsayable = {why: count for why, count in reasons.items() if why.partition(":")[0] == form}
    ranked = sorted((unsayable or reasons).items(), key=lambda item: (item[1], item[0]))
    return ranked[-1] if ranked else None


def why_empty(tallies: Sequence[ExportCounts]) -> str:
    """Why there are no rows, in one line: the reason that decides and what changes it.

    `tallies`: of the export, then of the same one with each remedy taken, as long as it gives no
    rows either.
    """
    tally, *further = tallies
    chats, found = tally.kind.name == "sft", deciding(tally)
    if found is None:
        nothing = f"the ledger holds nothing for kind {tally.kind.name}"
        return "no valid trajectory was collected" if chats else nothing
    reason, count = found
    why = f"left out as {named(tally, reason)}"
    why = f"dropped by {reason}" if reason in tally.filtered else why
    unit = "trajectories" if chats else "candidates"
    told = [f"{count} of {(tally.filtered + tally.left_out).total()} {unit} {why}"]
    for one in further:
        if (found := deciding(one)) is not None:
            told.append(f"then {found[1]} as {named(one, found[0])}")
    return "; ".join(told)


def remedy(reason: str) -> str | None:
    """Under which name the texts have a remedy, None where nothing takes such rows in."""
    names = (reason, reason.partition(":")[0])
    return next((name for name in names if name in _texts()["remedies"]), None)


def remedial_setting(reason: str) -> tuple[str, str | bool] | None:
    """The setting that takes such rows in, and its value."""
    name = remedy(reason)
    if name is None:
        return None
    setting, _, value = _texts()["remedies"][name][0].partition("=")
    return setting, value or True


def told_remedy(tally: ExportCounts, name: str) -> str:
    """What can be done, in the words of whoever asked."""
    setting, told = _texts()["remedies"][name]
    return str(told.format(tally.say(setting), per_turn=tally.say("unroll=per_turn")))


def named(tally: ExportCounts, reason: str) -> str:
    """A reason of the export's own, with its remedy where it has one."""
    name = remedy(reason)
    told = _texts()["meanings"].get(reason.rpartition(":")[2])
    told = told if name is None else told_remedy(tally, name)
    return reason if told is None else f"{reason}; {told}"
