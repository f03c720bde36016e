"""The question to the judge, one draw of it, and how a reply is read: every item answered from its
scale, or the reply is none.
"""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from synth.engine.asking import RoleRequest, UnreadableError, prompt
from synth.engine.roles.replies import answer_text
from synth.filters.judge import about_run
from synth.filters.rubric.rubric import Answer, Judged, Rubric
from synth.schemas import Case, Completion, content_hash
from synth.text.replies.answers import only_answer
from synth.text.replies.fitted import NoFitError, choice, whole_number

Structured = Literal["json_schema", "json_object", "none"]


def drawn(
    rubric: Rubric,
    case: Case,
    draw: int,
    *,
    temperature: float,
    structured: Structured,
    extra: Mapping[str, Any],
) -> RoleRequest:
    """The question's `draw`-th copy: the items stand in another order each time, so that their
    order shows in the spread.

    `extra`: settings of the role's model that stand beside the form of the reply.
    """
    trajectory = case.trajectory
    drawn_by = [rubric.name, rubric.version, trajectory.trajectory_id, draw]
    seed = int(content_hash(drawn_by, size=7), 16)

    items = list(rubric.judged)
    random.Random(seed).shuffle(items)
    asked = "\n".join(f"- {item.name} ({_allowed(item)}): {item.question}" for item in items)
    parts = (prompt("judge/rubric"), rubric.guidance, f"Questions:\n{asked}")
    system = "\n\n".join(filter(None, (*parts, prompt("judge/rubric_form"))))

    extra = {**extra, **_response_format(rubric.name, items, structured)}
    sampling = {"temperature": temperature, "seed": seed % 2**31, "extra": extra}
    purpose = f"rubric {rubric.name}"

    return about_run(purpose, case, trajectory, system, "", sampling=sampling, draw=draw)


def read(rubric: Rubric, completion: Completion) -> Mapping[str, Answer]:
    """A reply's answers, by item. Raises `UnreadableError` where one is missing, unknown or off its
    scale.
    """
    found = _object(rubric, completion)
    if not isinstance(found.pop("reason", None), str):
        raise UnreadableError("reason: a text is missing")

    answers = {item.name: _answer(item, found) for item in rubric.judged}
    unknown = sorted(found.keys() - answers.keys())
    if unknown:
        raise UnreadableError(f"{unknown[0]}: no such question was asked")

    return answers


def _object(rubric: Rubric, completion: Completion) -> dict[str, Any]:
    """The one object of a reply, its keys spelled as the items are."""
    names = ["reason", *(item.name for item in rubric.judged)]
    try:
        found = only_answer(answer_text(completion), names)
    except NoFitError as error:
        raise UnreadableError(str(error)) from error
    if found is None:
        raise UnreadableError("it holds no JSON object")
    return found


def _answer(item: Judged, found: Mapping[str, Any]) -> Answer:
    """The answer to one item, as its scale has it."""
    if item.name not in found:
        raise UnreadableError(f"{item.name}: the answer is missing")

    choices = item.scale.answers
    given = choice(found[item.name], choices)
    if not item.scale.choices:
        given = whole_number(given)
    for allowed in item.scale.answers:
        if type(given) is type(allowed) and given == allowed:  # true is no 1
            return allowed

    raise UnreadableError(
        f"{item.name}: {str(given)[:60]!r} is not allowed; it must be {_allowed(item)}"
    )


def _allowed(item: Judged) -> str:
    """What may be answered, as the question and a refusal say it."""
    if item.scale.choices:
        return " or ".join(json.dumps(choice) for choice in item.scale.choices)
    return f"a whole number from {item.scale.low} to {item.scale.high}"


def _response_format(
    name: str, items: Sequence[Judged], structured: Structured
) -> Mapping[str, Any]:
    """What asks an OpenAI-compatible server for an object of this form; nothing where the server is
    known to refuse it.
    """
    if structured == "none":
        return {}

    form: dict[str, Any] = {"type": structured}
    if structured == "json_schema":
        kinds: dict[str, Any] = {"reason": {"type": "string"}}
        for item in items:
            kind = "string" if item.scale.choices else "integer"
            kinds[item.name] = {"type": kind, "enum": list(item.scale.answers)}

        schema = {
            "type": "object",
            "properties": kinds,
            "required": [*kinds],
            "additionalProperties": False,
        }
        form["json_schema"] = {"name": name, "strict": True, "schema": schema}

    return {"response_format": form}
