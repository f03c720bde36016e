"""ToolBench search trees: every path from the root to a leaf is a trajectory; each but the first
branches off from the one before it.

Before it tried another child of a node, the model was shown a prompt that the tree does not hold:
such a turn is masked.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from synth.importers.attempt import attempt, import_task
from synth.importers.records import Entry, Imported, ImportSettings, Record, by_record, is_object
from synth.schemas.canonical import valid_text
from synth.schemas.messages import Conversation, from_messages
from synth.schemas.outcome import Termination
from synth.schemas.trajectory import Observation, Source, ToolCall, ToolSchema, Turn

UNRECORDED_PROMPT = "unrecorded_prompt"
_GAVE_UP = 4
"""`observation_code` of Finish with give_up_and_restart."""
_ERRORS = frozenset(
    {1, 2, 5, 6, 7, 8, 9, 10, 11, 12}
)  # hallucinated name, input error, server errors, ...


class _Node(msgspec.Struct):
    node_type: str
    description: str = ""
    observation: str = ""
    observation_code: int | None = None
    finished: bool = False
    is_terminal: bool = False
    pruned: bool = False
    children: list["_Node"] = []


class _Tree(msgspec.Struct):
    tree: _Node


class _Answer(msgspec.Struct):
    query: str
    function: list[dict[str, Any]] = []
    train_messages: list[list[dict[str, Any]]] = []


class _Search(msgspec.Struct):
    tree: _Tree
    answer_generation: _Answer
    win: bool | None = None


class _Step(msgspec.Struct):
    """Nodes of one turn: thought, action, and the action's input with what came back."""

    thought: _Node | None = None
    action: _Node | None = None
    input: _Node | None = None
    another: bool = False

    @property
    def last(self) -> _Node:
        """The node at which the turn ends."""
        found = self.input or self.action or self.thought
        if found is None:
            raise ValueError("a turn without a node")
        return found


def recognises(value: Any) -> bool:
    """A `tree` beside `answer_generation`."""
    return is_object(value, answer_generation=dict, tree=dict)


def _tree(record: Record, settings: ImportSettings) -> Sequence[Entry]:
    entries = list(_paths(record, msgspec.convert(record.value, _Search)))
    return entries or [record.rejected("no_turns", "a tree without a turn")]


def _paths(record: Record, search: _Search) -> Iterator[Imported]:
    answer = search.answer_generation
    prompt = from_messages(
        answer.train_messages[0][:2]
        if answer.train_messages
        else [{"role": "user", "content": answer.query}]
    )
    opening = prompt.opening or (Observation(valid_text(answer.query), Source.USER),)
    tools: tuple[ToolSchema, ...] = tuple(
        {"type": "function", "function": function} for function in answer.function
    )
    task = import_task("toolbench", valid_text(answer.query), benchmark="toolbench/unknown")
    before: list[_Step] = []
    parent: str | None = None
    for index, path in enumerate(_leaves(search.tree.tree)):
        shared = _shared(before, path)
        turns = tuple(_turn(i, step) for i, step in enumerate(path))
        termination, passed = _ended(path[-1].last, search.win)
        found = attempt(
            record if index == 0 else record.part(f"path/{index}", [record.content, index]),
            "toolbench",
            task,
            Conversation(prompt.system_prompt, opening, turns),
            trial=index,
            passed=passed,
            termination=termination,
            tools=tools,
            parent_id=parent,
            pivot_turn=None if parent is None else shared,
        )
        yield Imported(task, found)
        before, parent = path, found.trajectory_id


def _ended(leaf: _Node, win: bool | None) -> tuple[Termination, bool | None]:
    """How a path ended: in an answer (the file's own verdict), given up, or cut by the search's
    limits.
    """
    if leaf.finished:
        return Termination.DONE, win
    if leaf.observation_code == _GAVE_UP:
        return Termination.DONE, False
    return Termination.TURN_LIMIT, None


def _leaves(root: _Node) -> Iterator[list[_Step]]:
    """Paths to the leaves, depth first, as turns."""
    stack: list[tuple[_Node, list[_Step]]] = [(root, [])]
    while stack:
        node, path = stack.pop()
        if not node.children and path:
            yield path
        for number in reversed(range(len(node.children))):
            child = node.children[number]
            stack.append((child, _with(path, child, another=number > 0)))


def _with(path: Sequence[_Step], node: _Node, *, another: bool) -> list[_Step]:
    """A path with one more node: a thought opens a turn, an action joins the thought before it, an
    input its action.
    """
    last = path[-1] if path else None
    if node.node_type == "Thought":
        return [*path, _Step(thought=node, another=another)]
    if node.node_type == "Action":
        if last is None or last.action is not None:
            return [*path, _Step(action=node, another=another)]
        return [*path[:-1], _Step(last.thought, node, None, last.another or another)]
    if node.node_type == "Action Input":
        if last is None or last.action is None or last.input is not None:
            raise ValueError("an Action Input without its Action")
        return [*path[:-1], _Step(last.thought, last.action, node, last.another or another)]
    raise ValueError(f"node_type {node.node_type!r} is none of Thought, Action, Action Input")


def _shared(one: Sequence[_Step], other: Sequence[_Step]) -> int:
    """How many turns two paths begin with together."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine.last is not theirs.last:
            break
        count += 1
    return count


def _turn(index: int, step: _Step) -> Turn:
    content = valid_text(step.thought.description) if step.thought is not None else None
    mask = UNRECORDED_PROMPT if step.another else None
    if step.action is None:
        return Turn(index, content or "", mask=mask)
    call_id = f"call_{index}_0"
    arguments = valid_text(step.input.description) if step.input is not None else "{}"
    call = ToolCall.received(call_id, valid_text(step.action.description), arguments)
    observed: tuple[Observation, ...] = ()
    if step.input is not None:
        error = step.input.observation_code in _ERRORS
        observed = (
            Observation(
                valid_text(step.input.observation), call_id=call_id, name=call.name, error=error
            ),
        )
    return Turn(index, content, (call,), observed, mask=mask)


FORMAT = by_record(recognises, _tree)
