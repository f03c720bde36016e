"""What a person must be told about a data set: in which respects it is not what one expects, the
loudest first. The texts stand in `data/notes.yaml`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from synth.exporters.kind import Spelling, card_texts
from synth.exporters.tally import ExportCounts
from synth.loss_turns import EVIDENCE

_MOST_TOKENS = 5


class _Words(dict[str, Any]):
    """What stands for the names in braces: a setting where nothing else does."""

    def __init__(self, say: Spelling, **known: Any) -> None:
        super().__init__(known)
        self._say = say

    def __missing__(self, name: str) -> str:
        return self._say(name)


def notes(tally: ExportCounts) -> Iterator[str]:
    """One line each."""
    yield from _counted(tally, "warnings")

    for remedied in card_texts()["remedies"]:
        found = sorted(reason for reason in tally.left_out if remedy(reason) == remedied)

        if found:
            # in Markdown, a token such as <s> would strike through what follows
            quote = "`" if remedied == "control_tokens" else ""
            said = ", ".join(f"{tally.left_out[one]} as {quote}{one}{quote}" for one in found)
            told = told_remedy(tally, remedied) + _of_users(tally, found)
            yield f"Left out: {said}; {told}{_then(tally, found)}."

    for left, count in sorted(tally.left_out.items()):
        if left.rpartition(":")[2] in card_texts()["meanings"]:
            yield f"Left out: {count} as {named(tally, left)}."

    yield from losses(tally)
    yield from _counted(tally, "remarks")
    yield from tally.aside.lines()
    yield from tally.remarks
    yield from _counted(tally, "last")


def _of_users(tally: ExportCounts, reasons: Iterable[str]) -> str:
    """What takes thoughts out of what users say, where rows were left out for these."""
    if not any("think" in reason and reason.endswith(":user") for reason in reasons):
        return ""
    told: str = card_texts()["thoughts_of_users"]
    return "; " + told.format_map(_Words(tally.say))


def _counted(tally: ExportCounts, group: str) -> Iterator[str]:
    """A line for each count of a group that is not 0."""
    counts, settings, form = tally.counts, tally.settings, tally.form
    # some counts are columns of the composition, some are of chats alone
    composition, chats = tally.composition, tally.kind.name == "sft"
    found: dict[str, int] = {
        **counts,
        "unfinished": tally.unfinished is not None,
        "scripted": composition["authorship"]["scripted"],
        "benchmark": tally.rows - composition["benchmark"]["none"],
        "evidence": chats and sum(map(composition["synthesizer"].__getitem__, EVIDENCE)),
        "unsolved": chats and tally.rows - composition["outcome"]["success"],
        "without_place": not (form.masks or tally.unroll == "context") and counts["with_masks"],
        "cut_trajectories": counts["cut_trajectories"] * (not form.begun),
        "begun": counts["cut_trajectories"] * form.begun,
        "joins_nothing": settings.join_answers and not form.joins,
    }

    words = _words(tally)
    for name, text in card_texts()[group].items():
        if found.get(name):
            words["n"] = found[name]
            yield text.format_map(words)


def _words(tally: ExportCounts) -> _Words:
    """What stands for the names in the lines of counts, but for `n`."""
    # the most frequent tokens, and in how many rows
    frequent = most_first(tally.control_tokens)
    frequent, rare = frequent[:_MOST_TOKENS], frequent[_MOST_TOKENS:]
    tokens = ", ".join(f"`{what}` ({count})" for what, count in frequent)
    share = tally.counts["recovery_loss_characters"] / max(1, tally.counts["loss_characters"])
    return _Words(
        tally.say,
        rows=tally.rows,
        unfinished=tally.unfinished,
        tokens=tokens + (f" and {len(rare)} more" if rare else ""),
        share=f"{share:.1%}",
        form=tally.form.name,
    )


def most_first(counter: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first, those that are as frequent by name."""
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))


def _then(tally: ExportCounts, reasons: Iterable[str]) -> str:
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
    """What the form has no place for, those lost of the same number of rows in a line, the most
    first.
    """
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
    # what filters dropped is told only where nothing else was left out
    reasons, form = tally.left_out or tally.filtered, tally.form.name
    unsayable = {why: count for why, count in reasons.items() if why.partition(":")[0] == form}
    ranked = (unsayable or reasons).items()
    return max(ranked, key=lambda item: (item[1], item[0]), default=None)


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
    return next((name for name in names if name in card_texts()["remedies"]), None)


def remedial_setting(reason: str) -> dict[str, str | bool]:
    """The setting that takes such rows in, and its value; none where nothing does."""
    name = remedy(reason)
    if name is None:
        return {}

    setting, _, value = card_texts()["remedies"][name][0].partition("=")

    return {setting: value or True}


def told_remedy(tally: ExportCounts, name: str) -> str:
    """What can be done, in the words of whoever asked."""
    setting, told = card_texts()["remedies"][name]
    return str(told.format(tally.say(setting), per_turn=tally.say("unroll=per_turn")))


def named(tally: ExportCounts, reason: str) -> str:
    """A reason of the export's own, with its remedy where it has one."""
    name = remedy(reason)
    told = card_texts()["meanings"].get(reason.rpartition(":")[2])
    told = told if name is None else told_remedy(tally, name)
    return reason if told is None else f"{reason}; {told}{_of_users(tally, [reason])}"
