"""The roles that are asked anything, a right answer of each, and what its own reader makes of it.

`python -m tests.synth.engine.role_answers` prints the matrix of docs/models.md: role x dressing x
(read, repaired, refused, fault).
"""

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from synth.engine.roles.replies import (
    REFUSED,
    UnreadableError,
    json_reply,
    mended_in,
    refusal_in,
    why_unusable,
)
from synth.filters.attribution.asking import _ShownStep, _Whole
from synth.filters.leaks.asking import read as read_leaks
from synth.filters.pdi import read_skill
from synth.filters.rubric.asking import read as read_rubric_reply
from synth.filters.rubric.rubric import read_rubric
from synth.schemas.model import Completion
from synth.synthesizers.failures.roles import CorrectorReply, InjectorReply, Instruction
from synth.synthesizers.reflection.reflection import parsed_reflection
from synth.synthesizers.reverse.role_writer import GoalWords, WrittenGoal
from synth.synthesizers.suggested_steps import _named
from synth.synthesizers.trajectory_reward import read_reward
from tests.synth.engine.reply_dressings import NOT_READ, READ

RUBRIC = read_rubric("fintrace")
CALL = {"name": "find", "arguments": {"id": "a, b", "deep": [1, None]}}
ANSWERS: dict[str, Any] = {
    "reflector": {
        "trajectory_summary": "It looked {twice}, and didn't find it.",
        "root_cause_analysis": None,
        "trajectory_outcome": "failure",
        "improvement_suggestion": "Look first.",
        "retry_from_step": 3,
    },
    "injector": {"content": None, "tool_calls": [CALL], "description": "It takes the wrong one."},
    "injector_text": {"instruction": "Take the first.", "description": "It does."},
    "corrector": {"step": 3, "content": "So.", "tool_calls": [CALL]},
    "attributor": {"reason": "r", "agent": "coder", "step": 3, "mode": "FM-3.3"},
    "attributor_step": {"reason": "r", "decisive": True, "mode": None},
    "writer": {"low_level": ["Find it.", "Pay it."], "goal": "Have it paid."},
    "user": {"lines": ["I want it.", "Please."]},
    "judge_reward": {"reason": "r", "reward": 3},
    "judge_rubric": {
        "reason": "r",
        **{item.name: item.scale.answers[0] for item in RUBRIC.judged},
    },
    "judge_leaks": {"reason": "r", "leaks": True},
}
LENIENT: dict[str, Any] = {
    "skill_writer": {"skill": "Look first."},
    "judge_steps": {"steps": [3, 1]},
}
"""Roles whose answer may be without any form: a plain text, a bare list."""
ASKED_IN: dict[str, tuple[str, ...]] = {
    "synthesizers/reflection/reflection.py:__call__": ("reflector",),
    "synthesizers/failures/roles.py:injector_question": ("injector", "injector_text"),
    "synthesizers/failures/roles.py:corrector_question": ("corrector",),
    "filters/attribution/asking.py:_question": ("attributor", "attributor_step"),
    "synthesizers/reverse/role_writer.py:_asked": ("writer", "user"),
    "synthesizers/trajectory_reward.py:judge": ("judge_reward",),
    "filters/rubric/asking.py:drawn": ("judge_rubric",),
    "filters/leaks/asking.py:question": ("judge_leaks",),
    "filters/pdi.py:_request": ("skill_writer",),
    "synthesizers/suggested_steps.py:judge_proposals": ("judge_steps",),
}
"""The function that puts a question -> the roles that answer it, each in the matrix."""
ACTS = {"synth/engine/study/alternatives.py:drawn"}
"""Asks for an act, as an episode does: any reply is one, and none has a form."""
KIT = {"filters/judge.py:about_run", "synth/engine/asking.py:about"}
"""Puts questions of others."""
KINDS: dict[str, type[Any]] = {
    "injector": InjectorReply,
    "injector_text": Instruction,
    "corrector": CorrectorReply,
    "attributor": _Whole,
    "attributor_step": _ShownStep,
    "writer": WrittenGoal,
    "user": GoalWords,
}


def value_of(role: str, completion: Completion) -> Any:
    """What the role's own reader makes of a reply, as plain data."""
    if role == "skill_writer":
        return {"skill": read_skill(completion)}
    if role == "judge_steps":
        return {"steps": list(_named(completion))}
    if role == "reflector":
        read: Any = parsed_reflection(completion.content or "", 5)
    elif role == "judge_rubric":
        return dict(read_rubric_reply(RUBRIC, completion))
    elif role == "judge_reward":
        read = read_reward(completion)
    elif role == "judge_leaks":
        return {"leaks": read_leaks(completion)}
    else:
        read = json_reply(completion, KINDS[role])
    return msgspec.to_builtins(read)


def expected(role: str) -> Any:
    """What its reader gives; of two judges all but their reason."""
    kept = role not in ("judge_rubric", "judge_leaks")
    return {key: value for key, value in ANSWERS[role].items() if kept or key != "reason"}


def without_number(role: str, dressing: str) -> bool:
    """It has no number of its own, or a scale that words would change."""
    return dressing == "step N" and role in ("injector", "judge_rubric", "judge_leaks")


REFUSALS = {
    "in words": Completion(
        content="I'm sorry, but I can't assist with that.", finish_reason="stop"
    ),
    "in Chinese": Completion(content="很抱歉，我无法协助您完成这个请求。", finish_reason="stop"),
    "by a field": Completion(content="No.", finish_reason="stop", repairs=("refusal_as_content",)),
    "by a filter": Completion(content="", finish_reason="content_filter"),
}


def outcome(role: str, completion: Completion) -> str:
    """What a client makes of a reply: `read`, `repaired`, `refused` or `unreadable`."""
    if (why := why_unusable(completion)) is not None:
        return REFUSED if why.startswith(REFUSED) else "unreadable"
    try:
        value_of(role, completion)
    except UnreadableError:
        return REFUSED if refusal_in(completion) else "unreadable"
    return "repaired" if mended_in(completion, form=True) else "read"


def matrix() -> Iterator[tuple[str, str, str]]:
    """(role, dressing, outcome) of all that is no server's fault."""
    for role, answer in {**ANSWERS, **LENIENT}.items():
        for dressing, dressed in READ.items():
            if not without_number(role, dressing):
                yield role, dressing, outcome(role, said(dressed(answer)))
        for dressing, dressed in NOT_READ.items() if role in ANSWERS else ():
            yield role, dressing, outcome(role, said(dressed(answer)))
        for way, refusal in REFUSALS.items():
            yield role, way, outcome(role, refusal)


def said(content: str) -> Completion:
    """A reply that ended by itself."""
    return Completion(content=content, finish_reason="stop")


def table() -> Iterator[str]:
    """The matrix's counts by role, as docs/models.md shows them."""
    counts = Counter((role, what) for role, _, what in matrix())
    yield "| role | read | repaired | refused | unreadable |"
    yield "|---|---:|---:|---:|---:|"
    for role in (*ANSWERS, *LENIENT):
        found = (counts[role, what] for what in ("read", "repaired", REFUSED, "unreadable"))
        yield f"| `{role}` | {' | '.join(map(str, found))} |"


if __name__ == "__main__":
    print("\n".join(table()))
    if sys.argv[1:] == ["all"]:
        print(*("\t".join(one) for one in matrix()), sep="\n")
