"""Looks for text that a tokenizer reads as structure.

Such are turns, calls and thoughts that somebody else's words would begin or end.
"""

from collections import Counter
from typing import Literal

from synth.schemas import Case, Filter, FilterSettings, Verdict, to_messages
from synth.text.control_tokens import control_tokens, found
from synth.text.transcript.message_texts import TOOLS, Change, with_messages

_KEPT = {"neutralise": "neutralised", "keep": "kept"}


class ControlTokensConfig(FilterSettings):
    """`action`: what every export of the flow does with rows that hold control tokens.

    An export may say otherwise itself.
    """

    action: Literal["drop", "neutralise", "keep"] = "drop"


async def control_tokens_filter(case: Case, config: ControlTokensConfig) -> Verdict:
    """Drop by the first token and its place, unless exports are to neutralise or keep it.

    Looked through are a task's goal, a trajectory's messages and its tool schemas; the detail
    counts all tokens.
    """

    def visit(change: Change) -> None:
        if case.task is not None:
            change("goal", case.task.goal)
        with_messages(to_messages(case.trajectory), change)
        change(TOOLS, case.trajectory.tools)

    hits = found(visit, control_tokens())
    if not hits:
        return Verdict(True, "clean", 0.0)
    counted = Counter(f"{token} in {place}" for token, place in hits)
    reason = _KEPT.get(config.action, ":".join(hits[0]))
    detail = {"tokens": dict(sorted(counted.items()))}
    return Verdict(config.action != "drop", reason, float(len(hits)), detail)


FILTER = Filter(ControlTokensConfig, control_tokens_filter)
