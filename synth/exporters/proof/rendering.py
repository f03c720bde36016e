"""Every row rendered, and its mask checked: with the student's template, else with the training templates that TRL ships."""

from collections import Counter
from collections.abc import Callable, Iterable
from importlib.util import find_spec

from synth.exporters.kind import Chat
from synth.exporters.proof.findings import Findings
from synth.exporters.proof.masks import mask_problems
from synth.exporters.proof.template import FAMILIES, Template, served_template, student_template

Chats = Callable[[], Iterable[Chat]]


def rendering_findings(chats: Chats, student: str | None, findings: Findings, *, by_turn: bool, per_turn: bool = False) -> None:
    """A template of the student's own fails the proof where it is wrong; those of TRL are told of, one by one.

    Rows of one turn (`per_turn`) need no marks, and are rendered as the student is served.
    """
    if student is not None:
        template = served_template(student) if per_turn else student_template(student)
        findings.unproven += [f"{student}: {note}" for note in template.notes]
        if template.marked or per_turn:
            _look(chats, template, findings, findings.failed, by_turn=by_turn)
        else:
            findings.unproven.append(f"{student}: its template marks nothing as the assistant's: the mask was not checked")
        return
    if find_spec("trl") is None or find_spec("transformers") is None:
        findings.unproven.append(
            "rendering and masks: no --student was given, and TRL, whose templates stand in, is not installed (.[train])"
        )
        return
    findings.unproven.append("the student's own template: no --student was given; the training templates of TRL stand in")
    for family in FAMILIES:
        _look(chats, (served_template if per_turn else student_template)(f"trl:{family}"), findings, findings.unproven, by_turn=by_turn)


def _look(chats: Chats, template: Template, findings: Findings, wrong: list[str], *, by_turn: bool) -> None:
    from jinja2.exceptions import TemplateError

    problems: Counter[str] = Counter()
    rows = 0
    for chat in chats():
        rows += 1
        try:
            problems.update(set(mask_problems(chat, template, by_turn=by_turn)))
        except (TemplateError, TypeError) as error:
            problems[f"cannot be rendered ({' '.join(str(error).split())[:80]})"] += 1
    how = "token by token" if template.tokenizer is not None else "character by character (a template without its tokenizer)"
    if problems:
        found = "; ".join(f"{problem} ({count} of {rows} rows)" for problem, count in sorted(problems.items()))
        wrong.append(f"{template.name}: {found}")
    else:
        findings.proven.append(f"{template.name}: all {rows} rows render, and loss is on what the trained turns wrote alone, {how}")
