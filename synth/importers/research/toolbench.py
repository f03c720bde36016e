"""ToolBench search trees: every path from the root to a leaf is a trajectory; each but the first
branches off from the one before it.

Before it tried another child of a node, the model was shown a prompt that the tree does not hold:
such a turn is masked.
"""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

import msgspec
from msgspec.structs import replace

from synth.importers.attempt import entry
from synth.importers.conversation import ConversationBuilder, tool_call
from synth.importers.records import (
    Entry,
    Imported,
    ImportSettings,
    Object,
    Record,
    by_record,
    is_object,
)
from synth.schemas import Conversation, Termination, from_messages

UNRECORDED_PROMPT = "unrecorded_prompt"
_GAVE_UP = 4
"""`observation_code` of Finish with give_up_and_restart."""
_ERRORS = (1, 2, 5, 6, 7, 8, 9, 10, 11, 12)  # hallucinated name, input error, server errors, ...


class _Node(msgspec.Struct):
    node_type: str
    description: str = ""
    observation: str = ""
    observation_code: int | None = None
    finished: bool = False
    children: list["_Node"] = []


class _Tree(msgspec.Struct):
    tree: _Node


class _Answer(msgspec.Struct):
    query: str
    function: list[Object] = []
    train_messages: list[list[Object]] = []


class _Search(msgspec.Struct):
    tree: _Tree
    answer_generation: _Answer
    win: bool | None = None


_Path = tuple[tuple[_Node, bool], ...]
"""The nodes from below the root to a leaf; of each, whether another child was tried before it."""


def recognises(value: Any) -> bool:
    """A `tree` beside `answer_generation`."""
    return is_object(value, answer_generation=dict, tree=dict)


def _read(record: Record, settings: ImportSettings) -> list[Entry]:
    search = msgspec.convert(record.value, _Search)
    answer = search.answer_generation
    asked = [{"role": "user", "content": answer.query}]
    prompt = from_messages(answer.train_messages[0][:2] if answer.train_messages else asked)
    opening = prompt.opening or from_messages(asked).opening
    found: list[Entry] = []
    before: list[_Node] = []
    parent: str | None = None

    for index, path in enumerate(_paths(search.tree.tree)):
        said, ends = _conversation(path)
        together = (one is other for one, other in zip(before, ends, strict=False))
        termination, passed = _ended(ends[-1], search.win)
        one = entry(
            record.part(f"path/{index}", [record.content, index]) if index else record,
            "toolbench",
            replace(said, system_prompt=prompt.system_prompt, opening=opening),
            goal=answer.query,
            benchmark="toolbench/unknown",
            trial=index,
            passed=passed,
            end=(termination, None),
            tools=tuple({"type": "function", "function": tool} for tool in answer.function),
            parent_id=parent,
            pivot_turn=len(list(takewhile(bool, together))) if index else None,
        )

        found.append(one)
        before, parent = ends, one.trajectory.trajectory_id if isinstance(one, Imported) else None

    return found or [record.rejected("no_turns", "a tree without a turn")]


def _ended(leaf: _Node, win: bool | None) -> tuple[Termination, bool | None]:
    """How a path ended: in an answer (the file's own verdict), given up, or cut by the search's
    limits.
    """
    if leaf.finished:
        return Termination.DONE, win

    if leaf.observation_code == _GAVE_UP:
        return Termination.DONE, False
    return Termination.TURN_LIMIT, None


FORMAT = by_record(recognises, _read)


def _paths(root: _Node) -> Iterator[_Path]:
    """Paths to the leaves, depth first."""
    stack: list[tuple[_Node, _Path]] = [(root, ())]

    while stack:
        node, path = stack.pop()
        if path and not node.children:
            yield path

        children = [(child, place > 0) for place, child in enumerate(node.children)]
        stack += [(step[0], (*path, step)) for step in reversed(children)]


def _conversation(path: _Path) -> tuple[Conversation, list[_Node]]:
    """The turns of a path, and the node at which each ends: a thought opens a turn, an action joins
    the thought before it, an input its action.
    """
    chat, ends = ConversationBuilder(), list[_Node]()

    for node, another in path:
        kind, before = node.node_type, ends[-1].node_type if ends else None
        if kind == "Thought" or (kind == "Action" and before != "Thought"):
            chat.answer(node.description if kind == "Thought" else None)
            ends.append(node)
        elif kind == "Action Input" and before != "Action":
            raise ValueError("an Action Input without its Action")
        elif kind not in ("Action", "Action Input"):
            raise ValueError(f"node_type {kind!r} is none of Thought, Action, Action Input")

        ends[-1] = node
        calls: list[Any] = chat.messages[-1]["tool_calls"]
        if another:
            chat.notes[-1]["mask"] = UNRECORDED_PROMPT

        if kind == "Action":
            calls.append(tool_call(None, node.description, "{}"))
        elif kind == "Action Input":
            called = calls[0]["function"]
            called["arguments"] = node.description
            failed = node.observation_code in _ERRORS
            chat.result(node.observation, name=called["name"], error=failed)

    return chat.conversation(), ends
