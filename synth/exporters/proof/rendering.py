"""Every row rendered, and its mask checked: with the student's template, else with the training
templates that TRL ships.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple

from synth.exporters.proof.masks import mask_problems, side_problems, step_problems, text_problems
from synth.exporters.proof.reading import ProofIssues
from synth.exporters.proof.turns import turn_problems
from synth.exporters.tally import ExportCounts
from synth.exporters.template import FAMILIES, MaskTemplate, served_template, student_template
from synth.schemas import RowError

RENDERED = ("sft", "memory", "dpo", "kto", "prm")
"""Kinds whose rows trainers render with a chat template."""
_TRANSCRIPTS = (
    "tokens of prompts and steps: no --student was given, so the texts are plain transcripts of no "
    "template"
)
_NO_TEMPLATES = (
    "rendering and masks: no --student was given, and TRL, whose templates stand in, is not "
    "installed: pip install -e '.[train]', and name the student's tokenizer with --student"
)
_STAND_INS = "the student's own template: no --student was given; the templates of TRL stand in"
READ_AS_WRITTEN = "no text is read as a turn, a call or a thought"


class Look(NamedTuple):
    """How the rows of a kind are looked at: what is wrong with one under a template, what is proven
    where nothing is.

    `marks`: whether what carries loss is found by the generation tags of the template that the
    student is trained with; others need no tags, and are rendered as the student is served.
    """

    problems: Callable[[Any, MaskTemplate], Iterable[str]]
    proven: str
    marks: bool = False


def _look_at(tally: ExportCounts) -> Look:
    """By the kind: preferences weigh sides, steps are texts, all else are chats.

    Of rows of one turn what stands before it needs no mask, and no marks to find it by.
    """
    kind, by_turn = tally.kind.name, tally.form.masks or tally.unroll != "whole"

    if kind in ("dpo", "kto", "dpo_observed", "kto_observed"):
        proven = "no prompt carries loss, and all of each side does; no side is empty, no two alike"

        return Look(side_problems, proven)
    if kind == "prm":
        proven = "their texts are the template's, and each step has a label on its last token"

        return Look(step_problems, proven)

    proven = "loss is on what the trained turns wrote alone"

    marks = tally.unroll != "per_turn"

    return Look(partial(mask_problems, by_turn=by_turn), proven, marks=marks)


def rendering_findings(
    tally: ExportCounts, rows: Callable[[], Iterable[Any]], findings: ProofIssues
) -> None:
    """A template of the student's own fails the proof where it is wrong; those of TRL are told of,
    one by one. Nothing is looked at where a form's consumer renders with templates of its own.
    """
    form, student = tally.form, tally.settings.student

    if form.read is None:
        if tally.kind.name in RENDERED and form.layout != "files":
            findings.unproven.append(
                f"{form.name} renders with templates of its own: the student's template and what "
                "carries loss"
            )

        return

    # what is asked of a row depends on its kind, by which template on what is known
    look = _look_at(tally)
    # masks are those of training, renderings those of serving
    template_of = student_template if look.marks else served_template
    conclude = partial(_conclude, rows, form.read, findings)

    if tally.kind.name == "prm" and student is None:
        says = "each step has a label, and says what its message does"
        conclude(text_problems, "plain transcripts", says, findings.failed)
        findings.unproven.append(_TRANSCRIPTS)
    elif student is not None:
        template = template_of(student)
        others = f"; {form.name} renders with the student's own, which was not looked at"
        own = "" if form.name == "trl" else others
        findings.unproven += [f"{student}: {note}{own}" for note in template.notes]
        conclude(*_under(template, look, findings), findings.failed)
    elif find_spec("trl") is None or find_spec("transformers") is None:
        findings.unproven.append(_NO_TEMPLATES)
    else:
        findings.unproven.append(_STAND_INS)
        # no failure of the proof: nobody may train with these
        for family in FAMILIES:
            conclude(*_under(template_of(f"trl:{family}"), look, findings), findings.unproven)


def _under(
    template: MaskTemplate, look: Look, findings: ProofIssues
) -> tuple[Callable[[Any], Iterator[str]], str, str]:
    """What is wrong with a row that was read; the template's name; what is proven otherwise.
    Without the marks that a mask is found by, the mask is not looked at.
    """
    # without marks a mask would be guessed, so it is said that nobody looked
    checked = template.marked or not look.marks
    how = (
        "token by token"
        if template.tokenizer is not None
        else "character by character (a template without its tokenizer)"
    )
    if not (look.marks or template.marked):
        how += "; the template has no {% generation %} tags, and these rows need none"

    if not checked:
        findings.unproven.append(
            f"{template.name}: its template marks nothing as the assistant's: the mask was not "
            "checked"
        )

    def problems(row: Any) -> Iterator[str]:
        for messages in row.conversations:  # whether it has other turns than its messages
            yield from turn_problems(messages, row.tools, template)

        if checked:
            yield from look.problems(row, template)

    proven = f"{look.proven}, {how}; {READ_AS_WRITTEN}" if checked else READ_AS_WRITTEN

    return problems, template.name, proven


def _conclude(
    rows: Callable[[], Iterable[Any]],
    read: Callable[[Any], Any],
    findings: ProofIssues,
    problems_of: Callable[[Any], Iterable[str]],
    name: str,
    proven: str,
    wrong: list[str],
) -> None:
    """Looks at each row, and tells how many have which problem; a row that cannot be rendered has
    one too.

    `wrong`: where the line belongs if there is any.
    """
    problems: Counter[str] = Counter()
    count = 0

    for row in rows():
        count += 1

        try:
            problems.update(set(problems_of(read(row))))
        # templates raise whatever they like of values that they did not expect
        except (RowError, TypeError) as error:
            problems[f"cannot be rendered ({' '.join(str(error).split())[:80]})"] += 1

    if not problems:
        findings.proven.append(f"{name}: all {count} rows render, and {proven}")

        return

    found = (f"{problem} ({n} of {count} rows)" for problem, n in sorted(problems.items()))
    wrong.append(f"{name}: {'; '.join(found)}")
