"""Where a world that raises or never answers becomes a finding."""

import asyncio
import traceback
from collections.abc import Awaitable
from pathlib import Path
from threading import Thread
from typing import TypeVar

from synth.envs.conformance.finding import ConformanceRig, FailedError, Part, QuestionFinding

Given = TypeVar("Given")


async def answered(asked: Awaitable[Given], limit_s: float, what: str = "") -> Given:
    """The answer. Raises `FailedError` with `what`, and why there is none.

    All exceptions are caught, here and nowhere else in `envs`: the world on the bench may be
    anybody's, and an audit that dies with the world that it audits would report nothing.
    """
    try:
        return await asyncio.wait_for(asked, limit_s)
    except TimeoutError:
        raise FailedError(f"{what}no answer within {limit_s:g} s") from None
    except asyncio.CancelledError:
        raise FailedError(f"{what}the world cancelled the call") from None
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said, where = f"{type(error).__name__}: {str(error)[:200]}", Path(last.filename).name
        raise FailedError(f"{what}raised {said} ({where}:{last.lineno})") from error


async def on_thread(
    name: str, check: Part, bench: ConformanceRig, limit_s: float
) -> QuestionFinding:
    """A check run on its own thread and event loop, so that a world which blocks for ever costs
    this check and not the suite.

    A loop inside C code that never gives the interpreter back cannot be left this way.
    """
    found: list[QuestionFinding | str] = []

    def work() -> None:
        try:
            found.append(asyncio.run(answered(check(bench), limit_s)))
        except FailedError as error:
            found.append(str(error))
        except SystemExit as error:
            found.append(f"raised SystemExit: {error}")

    thread = Thread(target=work, name=f"conformance-{name}", daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, limit_s + 1)
    reason = found[0] if found else f"blocks for more than {limit_s:g} s"
    if isinstance(reason, QuestionFinding):
        return reason
    return QuestionFinding(False, f"{reason}, at: {''.join(bench.doing) or 'the start'}", name)
