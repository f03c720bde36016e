"""Whether anything can be learnt from a run that has ended."""

from collections.abc import Mapping
from typing import Any

from synth.engine.closing import failure
from synth.engine.context import Run
from synth.engine.silent_roles import unanswered_roles
from synth.schemas.errors import SynthError


def refuse_failed(run: Run, reports: Mapping[str, Mapping[str, Any]]) -> None:
    """Raises `SynthError` where no attempt was valid, or a role answered nothing; what was
    committed stays.
    """
    failed = failure(reports) or next(unanswered_roles(run), None)
    if failed is not None:
        raise SynthError(failed)
