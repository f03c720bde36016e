"""Where a world that raises or never answers becomes a finding."""

import asyncio
import traceback
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Generic, TypeVar

from synth.envs.conformance.finding import ConformanceRig, Finding, Part

Given = TypeVar("Given")


@dataclass(frozen=True)
class GuardedAnswer(Generic[Given]):
    """What a world gave in time."""

    given: Given


@dataclass(frozen=True)
class Broke:
    """Why there is no answer, in one line."""

    reason: str


async def answered(asked: Awaitable[Given], limit_s: float) -> GuardedAnswer[Given] | Broke:
    """The answer, or why there is none.

    All exceptions are caught, here and nowhere else in `envs`: the world on the bench may be
    anybody's, and an audit that
    dies with the world that it audits would report nothing.
    """
    try:
        return GuardedAnswer(await asyncio.wait_for(asked, limit_s))
    except TimeoutError:
        return Broke(f"no answer within {limit_s:g} s")
    except asyncio.CancelledError:
        return Broke("the world cancelled the call")
    except Exception as error:  # noqa: BLE001
        last = traceback.extract_tb(error.__traceback__)[-1]
        return Broke(
            f"raised {type(error).__name__}: {str(error)[:200]} "
            f"({Path(last.filename).name}:{last.lineno})"
        )


async def on_thread(name: str, check: Part, bench: ConformanceRig, limit_s: float) -> Finding:
    """A check run on its own thread and event loop, so that a world which blocks for ever costs
    this check and not the suite.

    A loop inside C code that never gives the interpreter back cannot be left this way.
    """
    found: list[GuardedAnswer[Finding] | Broke] = []

    def work() -> None:
        try:
            found.append(asyncio.run(answered(check(bench), limit_s)))
        except SystemExit as error:
            found.append(Broke(f"raised SystemExit: {error}"))

    thread = Thread(target=work, name=f"conformance-{name}", daemon=True)
    thread.start()
    await asyncio.to_thread(thread.join, limit_s + 1)
    match found:
        case [GuardedAnswer(finding)]:
            return finding
        case [Broke(reason)]:
            pass
        case _:
            reason = f"blocks for more than {limit_s:g} s"
    return Finding(False, f"{reason}, at: {''.join(bench.doing) or 'the start'}", name)
