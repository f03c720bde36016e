"""Roles that were asked and never answered: what hangs on them was not done, whatever else the run
has come to.
"""

from collections.abc import Iterator

from synth.engine.context import Run
from synth.engine.numbers import counted_noun


def unanswered_roles(run: Run) -> Iterator[str]:
    """A line for each role that answered none of its questions in this run, with what its server
    said last.
    """
    for name, breaker in sorted(run.role_breakers.items()):
        found = breaker.unheard()
        if found is not None:
            count, said = found
            what = (
                "its one question"
                if count == 1
                else f"any of its {counted_noun(count, 'question')}"
            )
            yield (
                f"the role {name} did not answer {what} ({said}): what it was asked for is "
                "not done; mend its server and run again"
            )
