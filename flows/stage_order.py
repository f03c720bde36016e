"""The order of a flow's stages: what judges trajectories stands behind all that makes them, and
exports behind what they write about.
"""

from collections.abc import Sequence

from synth.schemas.errors import ConfigError
from synth.schemas.flow import StageChoice

_MAKE = frozenset({"rollout", "reflect_retry", "failure_injection"})
"""Stages whose trajectories the flow sees; a user's own (`module:attribute`) is one of them too."""
_LATER = {"filter": 1, "select": 2, "export": 3, "report": 4}
"""Ranks of what works on what others have made; all other stages come before, in the order that the
flow gives them.
"""


def refuse_order(stages: Sequence[StageChoice], *, collect: bool) -> None:
    """Raises `ConfigError` where a stage stands before what it is to take in: the same flow would
    come to other rows when run again.

    Without `collect` the stages that collect are passed over, as they are not run.
    """
    named = [
        (index, one.name)
        for index, one in enumerate(stages)
        if collect or one.name in ("topology", *_LATER)
    ]
    for at, (index, name) in enumerate(named):
        for behind, other in named[at + 1 :]:
            if _is_taken_in(other, name):
                order = ", ".join(
                    sorted((one for _, one in named), key=lambda one: _LATER.get(one, 0))
                )
                raise ConfigError(
                    f"stages[{index}].{name} stands before stages[{behind}].{other}, so what "
                    "comes of that would be taken in by a second "
                    f"run only; put them in this order: {order}"
                )


def _is_taken_in(stage: str, by: str) -> bool:
    """Whether a stage gives what a filter, a selection or an export works on."""
    if by == "export":
        return stage not in ("export", "report")
    return by in ("filter", "select") and (stage in _MAKE or ":" in stage)
