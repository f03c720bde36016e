"""Turns an environment that raises, or never answers, into a finding."""

import asyncio
import traceback
from collections.abc import Awaitable
from pathlib import Path
from threading import Thread
from typing import TypeVar

from synth.envs.conformance.finding import ConformanceRig, FailedError, Part, QuestionFinding

Given = TypeVar("Given")


class _ExitError(Exception):
    """The environment wanted to end the process."""


async def _contained(asked: Awaitable[Given]) -> Given:
    """The answer. A `SystemExit` becomes an exception like others: out of a task it would end the
    event loop, and leave behind a task whose error is reported at some later time.
    """

    try:
        return await asked
    except SystemExit as error:
        raise _ExitError(str(error)) from error


async def answered(
    asked: Awaitable[Given],
    limit_s: float,
    what: str = "",
) -> Given:
    """The answer. Raises `FailedError` with `what`, and why there is none.

    All exceptions are caught, here and nowhere else in `envs`: the environment may be anybody's,
    and an audit that dies with the environment that it audits would report nothing.
    """

    try:
        return await asyncio.wait_for(_contained(asked), limit_s)
    except TimeoutError:
        raise FailedError(f"{what}no answer within {limit_s:g} s") from None
    except asyncio.CancelledError:
        raise FailedError(f"{what}the world cancelled the call") from None
    except _ExitError as error:
        raise FailedError(f"{what}raised SystemExit: {error}") from error
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said, where = f"{type(error).__name__}: {str(error)[:200]}", Path(last.filename).name
        raise FailedError(f"{what}raised {said} ({where}:{last.lineno})") from error


async def on_thread(
    check: Part,
    bench: ConformanceRig,
    name: str = "",
) -> QuestionFinding:
    """Runs a part on its own thread and event loop, so that an environment which blocks for ever
    costs this part and not the audit.

    A loop inside C code that never gives the interpreter back cannot be left this way.
    """

    limit_s, named = bench.limits.part_s, name or check.__name__
    found: list[QuestionFinding | str] = []

    def work() -> None:
        try:
            found.append(asyncio.run(answered(check(bench), limit_s)))
        except FailedError as error:
            found.append(str(error))
        except SystemExit as error:  # out of a task that the world has begun
            found.append(f"raised SystemExit: {error}")

    thread = Thread(target=work, name=f"conformance-{named}", daemon=True)
    thread.start()
    # one second more than the part has itself, so that its own answer about time comes first
    await asyncio.to_thread(thread.join, limit_s + 1)

    reason = found[0] if found else f"blocks for more than {limit_s:g} s"
    if isinstance(reason, QuestionFinding):
        return reason

    return QuestionFinding(False, f"{reason}, at: {''.join(bench.doing) or 'the start'}", named)
