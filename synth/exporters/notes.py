"""What a person must be told about a data set: in which respects it is not what one expects, the
loudest first.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from synth.exporters.tally import ExportCounts
from synth.loss_turns import EVIDENCE

_REMEDY = {
    "scripted": ("include_scripted", "{} takes them in"),
    "evidence_only": ("include_evidence", "they were played to test an act; {} takes them in"),
    "benchmark": ("allow_benchmark", "{} takes them in, with a warning in the card"),
    "held_out": ("allow_held_out", "{} takes them in, with a warning in the card"),
    "weak_label": ("include_weak", "their test did not confirm them; {} takes them in"),
    "control_tokens": (
        "control_tokens=neutralise",
        "tokenizers would read their texts as turns, calls or thoughts; {} takes them in with "
        "other brackets, marked and without token ids",
    ),
    "off_policy": (
        "off_policy",
        "their prefix was not sampled by the policy to be trained; {} writes them as a dataset of "
        "their own",
    ),
    "llamafactory:no_alternation": (
        "join_answers",
        "{} takes them in, with what the user says put into the tool's answer; LLaMA-Factory "
        "would drop them with no more than a warning",
    ),
    "masked_turns": (
        "keep_masked",
        "the form cannot say that a turn carries no loss; {per_turn} gives one row per turn that "
        "does, and {} takes them in as "
        "they are, for trainers that read that column",
    ),
}
"""For reasons of the export's own, whole or up to their colon: the setting that takes such rows in,
and what to say of it.
"""
_MEANING = {
    "pivot_without_evidence": "no test says that what the retry did there is better: the stage `critical_step` tests "
    "acts",
    "injection_likelihood_unknown": "no student has weighed both turns: the filter `rank_surprisal` does, after the stage "
    "that injects",
    "no_positive_at_such_a_state": "there is no desirable turn to set beside them at such a state",
    "undecided_step": "no test decided them, and a trainer would read a missing label as a bad step",
    "no_answer": "their last turn is a call or says nothing; rows need runs whose agent answers in words "
    "at the end",
    "no_check": "nothing can tell whether such a task is solved",
}
"""For other reasons whose names do not say what could be done: what they mean."""

_MOST_TOKENS = 5


def notes(tally: ExportCounts) -> list[str]:
    """One line each."""
    return [*_warnings(tally), *_remarks(tally)]


def _warnings(tally: ExportCounts) -> Iterator[str]:
    rows, say, counts = tally.rows, tally.say, tally.counts
    if tally.unfinished is not None:
        yield f"WARNING: {tally.unfinished}; these rows are a part of what the run is to give."
    if counts["control_tokens_kept"]:
        yield (
            f"WARNING: {counts['control_tokens_kept']} of {rows} rows hold control tokens in "
            "their texts "
            f"({say('control_tokens=keep')}): tokenizers read them as turns, calls and thoughts, "
            "and trainers may put loss on what tools "
            f"and users said. {_tokens(tally)}."
        )
    if counts["neutralised"]:
        yield (
            f"{counts['neutralised']} of {rows} rows are not as the model saw them "
            f"({say('control_tokens=neutralise')}): control tokens in "
            "their texts have other brackets (‹|im_start|›), and their token ids are left out. "
            f"{_tokens(tally)}."
        )
    scripted = tally.composition["authorship"]["scripted"]
    unsolved = rows - tally.composition["outcome"]["success"] if tally.kind.name == "sft" else 0
    evidence = (
        sum(tally.composition["synthesizer"][method] for method in EVIDENCE)
        if tally.kind.name == "sft"
        else 0
    )
    benchmark = rows - tally.composition["benchmark"]["none"]
    if scripted:
        yield (
            f"WARNING: {scripted} of {rows} rows were written by scripts, not by a model "
            f"({say('include_scripted')})."
        )
    if counts["gold_informed"]:
        yield (
            f"WARNING: {counts['gold_informed']} of {rows} rows were made by someone who had "
            "looked at gold (column gold_informed), such "
            "as retries whose guidance stands on what the check found wrong: no evidence of what "
            "the policy can do by itself."
        )
    if benchmark:
        yield (
            f"WARNING: {benchmark} of {rows} rows are attempts at public benchmarks "
            f"({say('allow_benchmark')}): "
            "what is trained on them cannot be measured there."
        )
    if evidence:
        yield (
            f"WARNING: {evidence} of {rows} rows were played to test an act "
            f"({say('include_evidence')}): "
            "many of them share all but their end."
        )
    if counts["copies"]:
        yield (
            f"{counts['copies']} of {rows} rows are exact copies of earlier ones (the same "
            "messages and tools)."
        )
    if counts["held_out"]:
        yield (
            f"WARNING: {counts['held_out']} of {rows} rows are attempts at held-out tasks "
            f"({say('allow_held_out')}): "
            "what is trained on them cannot be measured on that split."
        )
    if unsolved:
        yield f"WARNING: {unsolved} of {rows} rows are no successes."
    if counts["weak"]:
        yield (
            f"WARNING: {counts['weak']} of {rows} rows have labels that no test confirmed "
            f"({say('include_weak')}; column label_status)."
        )
    if counts["without_tools"]:
        yield (
            f"WARNING: {counts['without_tools']} of {rows} rows call tools whose schemas their "
            "source did not record: the trainer's prompt "
            f"lacks what the model was shown ({say('require_tools')} leaves them out)."
        )


def _tokens(tally: ExportCounts) -> str:
    """The most frequent ones, and in how many rows."""
    found = sorted(tally.control_tokens.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"`{what}` ({count})" for what, count in found[:_MOST_TOKENS])
    return f"{named} and {len(found) - _MOST_TOKENS} more" if len(found) > _MOST_TOKENS else named


def _remarks(tally: ExportCounts) -> Iterator[str]:
    counts = tally.counts
    for remedied in _REMEDY:
        found = sorted(reason for reason in tally.left_out if remedy(reason) == remedied)
        if found:
            counted = ", ".join(
                f"{tally.left_out[reason]} as {_quoted(reason)}" for reason in found
            )
            yield f"Left out: {counted}; {told_remedy(tally, remedied)}{_then(tally, found)}."
    for left, count in sorted(tally.left_out.items()):
        if left.rpartition(":")[2] in _MEANING:
            yield f"Left out: {count} as {named(tally, left)}."
    yield from losses(tally)
    if counts["with_masks"] and not tally.form.masks:
        yield (
            f"WARNING: {counts['with_masks']} rows have assistant messages without loss "
            "(masked_turns); a trainer that trains on every "
            "assistant message must be told so, or be given other rows."
        )
    if counts["unparsed_calls"]:
        yield (
            f"{counts['unparsed_calls']} calls have arguments that are no JSON object; they "
            "stand as received, in masked turns."
        )
    if counts["recoveries"]:
        share = counts["recovery_loss_characters"] / max(1, counts["loss_characters"])
        yield (
            f"{counts['recoveries']} of {tally.rows} rows come back from an error, with "
            f"{share:.1%} of the loss (characters); the turns "
            "that made it worse stay in the context and carry none."
        )
    yield from tally.aside.lines()
    yield from tally.remarks
    if counts["joined"]:
        yield (
            f"In {counts['joined']} of {tally.rows} rows what users said right after a tool "
            "answered stands in that answer, after [user] "
            f"({tally.say('join_answers')}): not as the model saw it."
        )
    if tally.settings.join_answers and not tally.form.joins:
        yield (
            f"{tally.say('join_answers')} changes nothing here: {tally.form.name} says who "
            "spoke when."
        )
    if counts["loss_not_counted"]:
        yield (
            f"Loss is counted without {counts['loss_not_counted']} rows: the student's "
            "template marks no answers, or has no tokenizer."
        )
    if counts["never_tried"]:
        yield (
            f"{counts['never_tried']} tasks were never tried: their prompt is the goal alone, "
            "and no tools were recorded."
        )


def _then(tally: ExportCounts, reasons: Sequence[str]) -> str:
    """What such rows would be left out for once they are taken in, with what changes that."""
    behind = sum(
        (tally.behind[reason] for reason in reasons if reason in tally.behind), Counter[str]()
    )
    by_remedy: dict[str, list[str]] = {}
    for reason in sorted(behind):
        by_remedy.setdefault(remedy(reason) or reason, []).append(reason)
    told = [
        ", ".join(
            f"{behind[reason]} as {named(tally, reason) if reason is same[-1] else reason}"
            for reason in same
        )
        for same in by_remedy.values()
    ]
    return "".join(f"; then {one}" for one in told)


def _quoted(reason: str) -> str:
    """A reason that holds a token stands as code: in Markdown `<s>` strikes through what
    follows.
    """
    return f"`{reason}`" if reason.startswith("control_tokens:") else reason


def losses(tally: ExportCounts) -> list[str]:
    """What the form has no place for, one line for all that is lost of the same number of rows."""
    by_count: dict[int, list[str]] = {}
    for what, count in sorted(tally.unsaid.items()):
        by_count.setdefault(count, []).append(what)
    found = sorted(by_count.items(), reverse=True)
    return [
        f"{tally.form.name} cannot say, of {count} of {tally.rows} rows: {'; '.join(names)}."
        for count, names in found
    ]


def deciding(tally: ExportCounts) -> tuple[str, int] | None:
    """Of an export without rows: the reason that decides and its count, None where there was
    nothing to export.

    What the form itself has no place for decides, as no other setting brings it in; else the most
    common reason of what passed the filters.
    """
    reasons = tally.left_out or tally.filtered
    unsayable = {
        reason: count
        for reason, count in reasons.items()
        if reason.partition(":")[0] == tally.form.name
    }
    return (
        max((unsayable or reasons).items(), key=lambda item: (item[1], item[0]))
        if reasons
        else None
    )


def why_empty(tallies: Sequence[ExportCounts]) -> str:
    """Why there are no rows, in one line: the reason that decides and what changes it.

    `tallies`: of the export, then of the same one with each remedy taken, as long as it gives no
    rows either.
    """
    tally, *further = tallies
    found = deciding(tally)
    if found is None:
        return (
            "no valid trajectory was collected"
            if tally.kind.name == "sft"
            else f"the ledger holds nothing for kind {tally.kind.name}"
        )
    reason, count = found
    why = (
        f"dropped by {reason}"
        if reason in tally.filtered
        else f"left out as {named(tally, reason)}"
    )
    unit = "trajectories" if tally.kind.name == "sft" else "candidates"
    then = [
        f"then {count} as {named(one, reason)}"
        for one in further
        for reason, count in [deciding(one) or ("", 0)]
        if reason
    ]
    return "; ".join(
        [f"{count} of {(tally.filtered + tally.left_out).total()} {unit} {why}", *then]
    )


def remedy(reason: str) -> str | None:
    """Under which name `_REMEDY` has a reason, None where nothing takes such rows in."""
    return next((name for name in (reason, reason.partition(":")[0]) if name in _REMEDY), None)


def remedial_setting(reason: str) -> tuple[str, str | bool] | None:
    """The setting that takes such rows in, and its value."""
    name = remedy(reason)
    if name is None:
        return None
    setting, _, value = _REMEDY[name][0].partition("=")
    return setting, value or True


def told_remedy(tally: ExportCounts, name: str) -> str:
    """What can be done, in the words of whoever asked."""
    setting, told = _REMEDY[name]
    return told.format(tally.say(setting), per_turn=tally.say("unroll=per_turn"))


def named(tally: ExportCounts, reason: str) -> str:
    """A reason of the export's own, with its remedy where it has one."""
    name = remedy(reason)
    if name is None:
        meaning = _MEANING.get(reason.rpartition(":")[2])
        return reason if meaning is None else f"{reason}; {meaning}"
    return f"{reason}; {told_remedy(tally, name)}"
