"""A single assistant turn after what stood before it, as messages: what preference and step
trainers compare.
"""

from typing import Any

import msgspec

from synth.exporters.kind import Form, NotRepresentableError
from synth.exporters.sft_rows import with_objects
from synth.exporters.tally import ExportCounts
from synth.exporters.unroll import joined_answers
from synth.schemas.messages import to_messages, turn_messages
from synth.schemas.model import Message
from synth.schemas.release import Release
from synth.schemas.trajectory import Trajectory, Turn
from synth.text.transcript.message_texts import TOOLS, Change


def prompt_before(
    trajectory: Trajectory, turn: int, tally: ExportCounts
) -> tuple[list[Message], bool]:
    """What the policy saw before a turn, its past thoughts only where they are asked for; and
    whether answers were joined in it.
    """
    before = msgspec.structs.replace(trajectory, turns=trajectory.turns[:turn])
    messages = to_messages(before, thoughts=tally.settings.past_thoughts)
    if _arguments(tally.form, tally) == "dict":
        answers = [message for message in messages if message["role"] == "assistant"]
        for recorded, message in zip(before.turns, answers, strict=True):
            with_objects(recorded, message, tally.form.holds)
    if not tally.settings.join_answers:
        return messages, False
    joined = joined_answers(messages)
    return joined, len(joined) < len(messages)


def completion(turn: Turn, tally: ExportCounts, *, thoughts: bool = True) -> Message:
    """A turn as the assistant's message. Raises `NotRepresentableError` where the form would change its
    calls.
    """
    message = turn_messages(turn, thoughts=thoughts and tally.settings.thoughts)[0]
    if (
        any(call.parse_error is not None for call in turn.tool_calls)
        and _arguments(tally.form, tally) == "dict"
    ):
        raise NotRepresentableError("broken_arguments")
    if _arguments(tally.form, tally) == "dict" and not with_objects(
        turn, message, tally.form.holds
    ):
        raise NotRepresentableError("inexact_arguments")
    return message


def _arguments(form: Form, tally: ExportCounts) -> str:
    return tally.settings.arguments or form.arguments


def with_tools(trajectory: Trajectory, change: Change) -> Trajectory:
    """The trajectory that a row stands on, of which it writes the tool schemas."""
    return msgspec.structs.replace(trajectory, tools=change(TOOLS, trajectory.tools))


def label_settings(tally: ExportCounts) -> dict[str, Any]:
    """What the reading of labels is told: `student` of the export is a template, not a policy, and
    stays here.
    """
    return tally.settings.model_dump(include={*Release.model_fields, "include_statistical"})
