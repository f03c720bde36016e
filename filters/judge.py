"""A role is asked several times about a trajectory: what it is shown, and the draws that can be
read, or why there are none.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from synth.engine.asking import RoleRequest, SourceMeans, chat, told
from synth.schemas import Case, Completion, Faulted, Measure, Trajectory
from synth.text.transcript.log import log_of, quoted

T = TypeVar("T")
FEWEST = 2
"""Draws that must have been read for a value, where more than one was asked for."""


class NoDrawsError(Exception):
    """A role's draws say nothing.

    `about` says why; None: a ceiling of the run kept one of them from being asked, so that nothing
    is known, and the same is asked in the next run.
    """

    def __init__(self, about: Faulted | None) -> None:
        super().__init__(about)
        self.about = about

    def measures(self, metric: str) -> list[Measure]:
        """What stands in the place of the metric that they would have given."""
        return [] if self.about is None else [Measure(metric, None, about=self.about)]


async def draws(
    means: SourceMeans,
    role: str,
    questions: Iterable[RoleRequest],
    read: Callable[[Completion], T],
    too_long: Faulted,
    unreadable: Faulted | None = None,
) -> tuple[list[T], list[str]]:
    """What the draws say, and why others could not be read. They are asked one after the other, so
    that a draw that was interrupted is not asked again.

    Raises `NoDrawsError` where a server failed, a ceiling stopped it, the question does not fit the
    model's context (`too_long`), or too few could be read (`unreadable`; a fault of the judge where
    it is left out).
    """
    said, unread = [], []
    for question in questions:
        answer = await means.ask(role, question, read)
        if answer.value is not None:
            said.append(answer.value)
        elif answer.fault is not None:
            long = answer.fault.context_overflow
            raise NoDrawsError(too_long if long else told(answer.fault, type(too_long)))
        elif answer.unreadable is not None:
            unread.append(answer.unreadable[:300])
        else:
            raise NoDrawsError(None)

    # what one draw says is no verdict where several were asked for
    samples = len(said) + len(unread)
    if len(said) < min(FEWEST, samples):
        message = f"{len(unread)} of {samples} answers could not be read: {unread[0]}"
        raise NoDrawsError(unreadable or type(too_long)(fault="judge", message=message))

    return said, unread


def about_run(
    purpose: str, case: Case, shown: Trajectory, system: str, asked: str, **about: Any
) -> RoleRequest:
    """A question about the task and a trajectory's log, or as much of it as is `shown`.

    `system`: who the role is; `asked`: what stands behind the log; `about`: sampling and number of
    the draw. The method that made the trajectory and its outcome are not told.
    """
    # quoted as JSON, so that nothing in a goal or a log can stand where the question stands
    goal = case.task.goal if case.task is not None else "(not recorded apart from the log)"
    log = f"The log, {len(shown.turns)} steps:\n{log_of(shown)}"
    parts = [f"The task, as a JSON string:\n{quoted(goal)}", log, asked]

    return RoleRequest(
        purpose=purpose,
        subject_id=case.trajectory.trajectory_id,
        task_id=case.trajectory.task_id,
        messages=chat(system, *filter(None, parts)),
        **about,
    )
