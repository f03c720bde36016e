"""Every row rendered, and its mask checked: with the student's template, else with the training
templates that TRL ships.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import msgspec

from synth.exporters.kind import Chat, Comparison, Form, Steps
from synth.exporters.proof.loading import ProofIssues
from synth.exporters.proof.masks import mask_problems, step_problems, text_problems
from synth.exporters.proof.preferences import side_problems
from synth.exporters.proof.template import FAMILIES, MaskTemplate, served_template, student_template
from synth.exporters.proof.turns import turn_problems
from synth.schemas.errors import RowError

Rows = Callable[[], Iterable[Any]]
READ_AS_WRITTEN = "no text is read as a turn, a call or a thought"


class Look(msgspec.Struct, frozen=True):
    """How a kind of rows is looked at: how a loaded row is read, what is wrong with one under a
    template, what is proven where nothing is, by which template.

    `marks`: whether what carries loss is found by the template's generation tags; `by`: the form,
    and so whose trainer renders it.
    """

    read: Callable[[Any], Chat | Comparison | Steps]
    problems: Callable[[Any, MaskTemplate], Iterable[str]]
    proven: str
    template: Callable[[str], MaskTemplate] = served_template
    marks: bool = False
    by: str = "trl"

    def turns(self, row: Any, template: MaskTemplate) -> Iterator[str]:
        """Whether a loaded row has other turns than its messages."""
        read = self.read(row)
        for messages in read.conversations:
            yield from turn_problems(messages, read.tools, template)


def look_at(form: Form, *, per_turn: bool) -> Look | None:
    """How rows of a form are looked at, None for a form whose consumer renders them with templates
    of its own.

    Rows of one turn and preferences need no marks, and are rendered as the student is served.
    """
    if form.chat is not None:
        return Look(
            form.chat,
            partial(mask_problems, by_turn=form.masks or per_turn),
            "loss is on what the trained turns wrote alone",
            served_template if per_turn else student_template,
            marks=not per_turn,
            by=form.name,
        )
    if form.comparison is not None:
        return Look(
            form.comparison,
            side_problems,
            "no prompt carries loss, and all of each side does; no side is empty, no two alike",
        )
    if form.steps is not None:
        return Look(
            form.steps,
            step_problems,
            "their texts are the template's, and each step has a label on its last token",
        )
    return None


def rendering_findings(rows: Rows, look: Look, student: str | None, findings: ProofIssues) -> None:
    """A template of the student's own fails the proof where it is wrong; those of TRL are told of,
    one by one.
    """
    if student is not None:
        template = look.template(student)
        own = (
            ""
            if look.by == "trl"
            else f"; {look.by} renders with the student's own, which was not looked at"
        )
        findings.unproven += [f"{student}: {note}{own}" for note in template.notes]
        if template.marked or not look.marks:
            _look(rows, template, look, findings, findings.failed)
        else:
            findings.unproven.append(
                f"{student}: its template marks nothing as the assistant's: the mask was not "
                "checked"
            )
            _conclude(
                rows,
                lambda row: look.turns(row, template),
                template.name,
                findings,
                findings.failed,
                READ_AS_WRITTEN,
            )
        return
    if find_spec("trl") is None or find_spec("transformers") is None:
        findings.unproven.append(
            "rendering and masks: no --student was given, and TRL, whose templates stand in, is "
            "not installed: "
            "pip install -e '.[train]', and name the student's tokenizer with --student"
        )
        return
    findings.unproven.append(
        "the student's own template: no --student was given; the templates of TRL stand in"
    )
    for family in FAMILIES:
        _look(rows, look.template(f"trl:{family}"), look, findings, findings.unproven)


def transcript_findings(rows: Rows, form: Form, findings: ProofIssues) -> None:
    """Steps as plain transcripts, which no template renders: that texts and labels are there, and
    hold what the messages say.
    """
    read: Any = form.steps
    _conclude(
        rows,
        lambda row: text_problems(read(row)),
        "plain transcripts",
        findings,
        findings.failed,
        "each step has a label, and says what its message does",
    )
    findings.unproven.append(
        "tokens of prompts and steps: no --student was given, so the texts are plain transcripts "
        "of no template"
    )


def _look(
    rows: Rows, template: MaskTemplate, look: Look, findings: ProofIssues, wrong: list[str]
) -> None:
    how = (
        "token by token"
        if template.tokenizer is not None
        else "character by character (a template without its tokenizer)"
    )
    if not (look.marks or template.marked):
        how += "; the template has no {% generation %} tags, and these rows need none"

    def problems(row: Any) -> Iterator[str]:
        yield from look.turns(row, template)
        yield from look.problems(look.read(row), template)

    _conclude(
        rows, problems, template.name, findings, wrong, f"{look.proven}, {how}; {READ_AS_WRITTEN}"
    )


def _conclude(
    rows: Rows,
    problems_of: Callable[[Any], Iterable[str]],
    name: str,
    findings: ProofIssues,
    wrong: list[str],
    proven: str,
) -> None:
    problems: Counter[str] = Counter()
    count = 0
    for row in rows():
        count += 1
        try:
            problems.update(set(problems_of(row)))
        except (RowError, TypeError) as error:
            problems[f"cannot be rendered ({' '.join(str(error).split())[:80]})"] += 1
    if not problems:
        findings.proven.append(f"{name}: all {count} rows render, and {proven}")
        return
    found = (f"{problem} ({n} of {count} rows)" for problem, n in sorted(problems.items()))
    wrong.append(f"{name}: {'; '.join(found)}")
