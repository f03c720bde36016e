"""The forms that TRL reads.

Messages and tools are lists of `Json()`: typed structs would fill the keys that a message or its
arguments lack with null, and TRL trains on these. Arguments are objects, as TRL documents them. Its
`assistant_only_loss` trains on every assistant message, so `trained_turns` and `masked_turns` say
which ones (counted from 0 among the assistant messages) should carry loss.

Rows of one turn hold a prompt and a completion, preferences two answers after a prompt, KTO rows
one, and steps are texts that a template has rendered before. Read against TRL 1.16.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from synth.exporters.evidence_class import evidence_of
from synth.exporters.exact_json import exact_json, holds_exactly
from synth.exporters.facts import OF_TURNS, TOKENS
from synth.exporters.form import Chat, Comparison, NotRepresentableError, Steps, Value, form
from synth.exporters.kinds.labelled import LabelledRow
from synth.exporters.kinds.sft_rows import SftRow, trained_places
from synth.schemas import ToolSchema


def _exact(tools: Sequence[ToolSchema]) -> list[str | None]:
    """Schemas as JSON texts that `datasets` reads back as they are.

    Raises `NotRepresentableError` where one of them has a number that ujson cannot hold.
    """
    texts = [exact_json(tool) for tool in tools]
    if None in texts:
        raise NotRepresentableError("inexact_tool_schemas")
    return texts


def masked_turns(row: SftRow) -> list[dict[str, Any]]:
    """The assistant messages that carry no loss, each with its reason."""
    return [{"turn": turn, "reason": reason} for turn, reason in row.masked.items()]


def _tokens(name: str, row: SftRow) -> Any:
    """As sampled: one list per trained turn, where the ledger has them all; of a row of one turn
    that turn's.

    Token ids are whole numbers, log-probabilities natural ones (nats), as the server gave them.
    """
    # compiled rows have no turns, and so no tokens
    turns = row.trajectory.turns
    found = [getattr(turns[turn], name) for turn in row.trained] if turns else []
    if row.turn is not None:
        return found[0]

    return [list(one) for one in found] if all(found) else None


def _step_label(row: LabelledRow) -> list[bool]:
    """Trainers read a missing label as a bad step."""
    # a step that nothing decided is no bad step
    if row.label.label is None:
        raise NotRepresentableError("undecided_step")
    return [row.label.label]


def _whole_chat(row: Mapping[str, Any]) -> Chat:
    """TRL puts loss on every assistant message, so the trained ones must be all."""
    return Chat(row["messages"], row["tools"], tuple(row["trained_turns"]))


def _first_trained(row: SftRow) -> int:
    """Where the first message stands that carries loss."""
    return trained_places(row)[0]


def _context_chat(row: Mapping[str, Any]) -> Chat:
    """TRL puts loss on what the assistant says in the completion, so the trained ones must be all
    of it.
    """
    return Chat([*row["prompt"], *row["completion"]], row["tools"], tuple(row["trained_turns"]))


def _turn_chat(row: Mapping[str, Any]) -> Chat:
    """Loss on the completion."""
    # assistant messages are counted from the beginning of the prompt
    before = sum(message["role"] == "assistant" for message in row["prompt"])
    return Chat([*row["prompt"], *row["completion"]], row["tools"], (before,))


def _comparison(sides: Sequence[str], row: Mapping[str, Any]) -> Comparison:
    """Each side is one message after a prompt that is always given: TRL takes the prompt apart from
    what both sides have alike where it is not.
    """
    messages = tuple(message for side in sides for message in row[side])
    return Comparison(row["prompt"], messages, row["tools"])


def steps(row: Mapping[str, Any], separator: str = "\n") -> Steps:
    """As the loop of the page on training and TRL's PRM trainer before 1.16 read it: a line break
    after each step.
    """
    return Steps(
        prompt=row["prompt"],
        steps=tuple(row["completions"]),
        labels=tuple(row["labels"]),
        separator=separator,
        messages=row["prompt_messages"],
        step_messages=row["step_messages"],
        tools=row["tools"],
    )


# what the tables of `data/forms/trl.yaml` name and no row holds under that name
_form = partial(form, "trl", arguments="dict", holds=holds_exactly)
_CHAT: dict[str, Value] = {
    "tools": lambda row: _exact(row.trajectory.tools),
    "masked_turns": masked_turns,
    "evidence": evidence_of,
    **{name: partial(_tokens, name) for name in OF_TURNS[TOKENS]},
}
_TURN: dict[str, Value] = {
    "prompt": lambda row: row.messages[:-1],
    "completion": lambda row: row.messages[-1:],
}
_CONTEXT: dict[str, Value] = {
    "prompt": lambda row: row.messages[: _first_trained(row)],
    "completion": lambda row: row.messages[_first_trained(row) :],
}
_PAIR: dict[str, Value] = {
    "chosen": lambda row: row.answers[:1],
    "rejected": lambda row: row.answers[1:],
}
_STEP: dict[str, Value] = {
    "prompt": lambda row: row.texts[0],
    "completions": lambda row: row.texts[1:],
    "labels": _step_label,
}

# the forms themselves; the registry asks for them by the kind's name
PER_TURN = _form("sft_turn", _CHAT | _TURN, read=_turn_chat)
CONTEXT = _form("sft_context", _CHAT | _CONTEXT, read=_context_chat)
_CUTS = {"per_turn": PER_TURN, "context": CONTEXT}
SFT = _form("sft", _CHAT, read=_whole_chat, cuts=_CUTS)
MEMORY = _form("memory", _CHAT, read=_whole_chat)
_pairs = partial(_form, values=_CHAT | _PAIR, read=partial(_comparison, ("chosen", "rejected")))
_turns = partial(_form, values=_CHAT, read=partial(_comparison, ("completion",)))
DPO, DPO_OBSERVED = _pairs("dpo"), _pairs("dpo_observed")
KTO, KTO_OBSERVED = _turns("kto"), _turns("kto_observed")
PRM = _form("prm", _CHAT | _STEP, read=steps)
RL = form("trl", "rl", {"tool_schemas": lambda row: _exact(row.tools)}, holds=holds_exactly)
