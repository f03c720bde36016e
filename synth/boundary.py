"""The one place where an exception of a world or a model becomes a recorded fault."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from schemas.errors import SynthError
from schemas.model import ModelError
from schemas.outcome import Fault

T = TypeVar("T")


class FaultError(Exception):
    """The machinery broke at a boundary; it ends the attempt as `invalid`, and is never a label."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault
        self.detail = detail


async def crossing(fault: Fault, what: str, call: Awaitable[T], timeout_s: float | None) -> T:
    """Awaits a call into foreign code; whatever it raises becomes a `FaultError` of that boundary, a late answer one of `timeout`.

    What the user or the disk must mend (`SynthError`), faults already named and context overflow pass through as they are.
    """
    try:
        async with asyncio.timeout(timeout_s) as limit:
            return await call
    except (SynthError, FaultError):
        raise
    except ModelError as error:
        if error.context_overflow:
            raise
        raise FaultError(Fault.TIMEOUT if error.timeout else fault, f"{what}: {error}"[:500]) from error
    except TimeoutError as error:
        if limit.expired():
            raise FaultError(Fault.TIMEOUT, f"{what}: no answer within {timeout_s or 0:g} s") from error
        raise FaultError(fault, f"{what}: {error or 'TimeoutError'}"[:500]) from error
    except Exception as error:
        raise FaultError(fault, f"{what}: {type(error).__name__}: {error}"[:500]) from error
