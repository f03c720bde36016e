"""What the echo world's planned fault is told as, wherever in its file it stands."""

import inspect

from synth.envs import echo

_LINES = inspect.getsource(echo).splitlines()
_RAISED_AT = next(
    number for number, line in enumerate(_LINES, 1) if 'RuntimeError(f"planned' in line
)


def planned_fault(turn: int) -> str:
    """The detail of the fault in a turn."""
    return f"step: RuntimeError: planned: echo fails at turn {turn} (echo.py:{_RAISED_AT} in step)"
