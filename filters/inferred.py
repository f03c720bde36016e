"""Tools that a corpus lets us infer, for trajectories whose source recorded no schemas."""

from collections import defaultdict
from collections.abc import Mapping
from weakref import WeakKeyDictionary

import msgspec

from synth.ledger.ledger import StoredLedger
from synth.schemas import ToolSchema, Trajectory
from synth.text.inferred_tools import InferredTools

Agent = tuple[str, str | None]
"""Environment and system prompt: trajectories that share both have the same tools."""
_KNOWN: WeakKeyDictionary[StoredLedger, tuple[int, int, Mapping[Agent, tuple[ToolSchema, ...]]]] = (
    WeakKeyDictionary()
)
"""By ledger: lines of its manifest and valid trajectories when last looked, and what their calls
tell.
"""


def with_inferred_tools(trajectory: Trajectory, ledger: StoredLedger) -> Trajectory:
    """The trajectory with the tools that calls of its like show, where it brings none; else as it
    is. The ledger is read once, as long as it does not grow.
    """
    if trajectory.tools:
        return trajectory

    now = ledger.state.lines
    lines, size, known = _KNOWN.get(ledger, (0, 0, {}))
    if lines != now:
        valid = len(ledger.state.current_valid())
        if size != valid:
            known = inferred_tools(ledger)
        _KNOWN[ledger] = (now, valid, known)

    return msgspec.structs.replace(trajectory, tools=known.get(_agent(trajectory), ()))


def inferred_tools(
    ledger: StoredLedger, *, values: bool = True
) -> Mapping[Agent, tuple[ToolSchema, ...]]:
    """By agent, of the current flow's valid trajectories without schemas, one in memory at a
    time.
    """
    found: defaultdict[Agent, InferredTools] = defaultdict(InferredTools)
    for one in ledger.trajectories(set(ledger.state.current_valid())):
        if not one.tools:
            for turn in one.turns:
                found[_agent(one)].add(turn.tool_calls, one.task_id)

    return {agent: tools.schemas(values=values) for agent, tools in found.items()}


def _agent(one: Trajectory) -> Agent:
    return one.env, one.system_prompt
