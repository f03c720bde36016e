"""Steps that a world's own check blames by name: tier E2, exact and without continuations."""

import re
from collections.abc import Iterator

import msgspec

from synth.schemas.trajectory import SampledBy, Trajectory, Turn
from synth.text.provenance.effect import effectful_by_name

PROCESS, STATE = "process", "state"
POLICY_BREACH, PROTECTED_WRITE = "policy_breach", "protected_write"
_BREACH = re.compile(r"^(\S+) in turn (\d+): ")
_PROTECTED = re.compile(r"^changed although protected: ([^/]+)/([^/]+)/(.+)$")


class Blamed(msgspec.Struct, frozen=True):
    """A turn and the rule that it broke; `turn` None where the evidence does not single one out."""

    turn: int | None
    rule: str


def blamed(trajectory: Trajectory) -> Iterator[Blamed]:
    """The turns that the parts of the check name: `RULE in turn N: ...` of a broken process, and
    the only write that can have changed a
    protected row. A turn that the policy did not take is never blamed.
    """
    parts = trajectory.check_result.parts if trajectory.check_result is not None else ()
    seen: set[Blamed] = set()
    for part in parts:
        if part.passed:
            continue
        for line in part.evidence:
            found = _read(trajectory, line)
            if found is not None and found not in seen:
                seen.add(found)
                yield found


def _read(trajectory: Trajectory, line: str) -> Blamed | None:
    breach = _BREACH.match(line)
    if breach is not None:
        turn, rule = int(breach.group(2)), f"{POLICY_BREACH}:{breach.group(1)}"
        own = turn < len(trajectory.turns) and _own(trajectory.turns[turn])
        return Blamed(turn if own else None, rule)
    protected = _PROTECTED.match(line)
    if protected is None:
        return None
    return Blamed(
        _writer(trajectory, protected.group(2)), f"{PROTECTED_WRITE}:{protected.group(1)}"
    )


def _writer(trajectory: Trajectory, key: str) -> int | None:
    """The one own turn that changed the state by an effectful call that was not refused; of
    several, the one that names the row.
    """
    writes = [turn for turn in trajectory.turns if _own(turn) and _wrote(trajectory, turn)]
    naming = [
        turn for turn in writes if any(f'"{key}"' in call.arguments for call in turn.tool_calls)
    ]
    found = naming or writes
    return found[0].index if len(found) == 1 else None


def _own(turn: Turn) -> bool:
    return turn.sampled_by is SampledBy.POLICY and turn.injected is None


def _wrote(trajectory: Trajectory, turn: Turn) -> bool:
    before = (
        trajectory.turns[turn.index - 1].state_key if turn.index else trajectory.opening_state_key
    )
    changed = turn.state_key is None or turn.state_key != before
    refused = bool(turn.observations) and all(seen.error for seen in turn.observations)
    return changed and not refused and any(effectful_by_name(call.name) for call in turn.tool_calls)
