"""The last lines of a run: whether anything can be learnt from it, what its faults were, what to
look at, why it stopped, and what to do next.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from synth.engine.context import AGENT, USER, Run
from synth.engine.funnel import Report, Reports
from synth.engine.numbers import counted_noun
from synth.ledger import StoredLedger
from synth.ledger.tables.asked_roles import EQUAL_PROMPTS, QUESTIONS, REFUSED, SAME_PROMPT
from synth.ledger.views import connect
from synth.schemas import Fault, Outcome, SynthError

SHOWN = 4
"""Kinds of repairs in the line, the most frequent first."""

_REPAIRS = """
SELECT kind, sum(turns)::BIGINT AS turns
FROM repairs
GROUP BY kind
ORDER BY turns DESC, kind
"""

_REPAIRED = "SELECT count(*) FROM turns WHERE len(repairs) > 0"

# a line that a model words for the user leaves one of two notes; every other note is a deviation
_USER_LINES = """
SELECT
  count(*) FILTER (note IN ('worded', 'fell_back')),
  count(*) FILTER (note = 'fell_back'),
  count(*) FILTER (note NOT IN ('worded', 'fell_back'))
FROM (SELECT unnest(user_simulator) AS note FROM turns)
"""


def refuse_failed(run: Run, reports: Reports) -> None:
    """Raises `SynthError` where nothing can be learnt from a run that has ended: what was committed
    stays.
    """
    failed = failed_run(run, reports)
    if failed is not None:
        raise SynthError(failed)


def failed_run(run: Run, reports: Reports) -> str | None:
    """One line where no attempt was valid, or a role answered nothing."""
    return failure(reports) or next(_unanswered_roles(run), None)


def failure(reports: Reports) -> str | None:
    """One line where attempts were made and every one of them ended in a fault: nothing can be
    learnt from such a run.
    """
    made: Counter[str] = Counter()
    details: Counter[str] = Counter()

    for report in _episodes(reports):
        made.update(report["outcomes"])
        details.update(report.get("details", {}))

    if not made[Outcome.INVALID] or made.total() > made[Outcome.INVALID]:
        return None

    why = f"; the commonest: {max(details, key=lambda detail: details[detail])}" if details else ""

    return f"none of the {counted_noun(made.total(), 'attempt')} is valid, all ended in faults{why}"


def summary_lines(run: Run, reports: Reports) -> Iterator[tuple[str, str]]:
    """What stands below the funnel and the paths, each as (label, text); under `look` the shortest
    beginning of an id that names one trajectory, where the run outlives this process.
    """
    for report in _episodes(reports):
        for detail, count in report.get("details", {}).items():
            yield "fault", f"{count:,} x {detail}"

    broken = sum(report["faults"].get(Fault.ENVIRONMENT, 0) for report in _episodes(reports))
    if broken and run.flow.env is not None:
        yield (
            "world",
            f"{counted_noun(broken, 'attempt')} ended in faults of the world, which "
            "would only repeat themselves: a rerun leaves "
            f"them out; after a fix raise `version` in the EnvSpec of {run.flow.env.name} to run "
            "its episodes again",
        )

    for line in _unanswered_roles(run):
        yield "role", line
    yield from _of_turns(run)
    shown = _worth_a_look(run)

    if shown is not None and not run.ledger.storage.url.startswith("memory:"):
        yield "look", _shortest(run.ledger, shown)
    if run.stopped is not None:
        yield "stopped", f"{run.stopped}: no further episode was started; {_advice(run.stopped)}"
        overrun = run.budget.overrun()
        if overrun is not None:
            yield "over", overrun


def _shortest(ledger: StoredLedger, identity: str) -> str:
    """The shortest beginning of an id, of 8 letters at least, that names one trajectory."""
    every = {record.trajectory_id for shard in ledger.state.shards for record in shard.slots}

    return next(
        identity[:n]
        for n in range(8, len(identity) + 1)
        if sum(one.startswith(identity[:n]) for one in every) == 1
    )


def _advice(stopped: str) -> str:
    """How to go on after a ceiling."""
    if stopped.startswith("max_hours"):
        return "run again to go on, its clock begins anew"

    return (
        "raise it and run again to go on"
        if stopped.endswith("is reached")
        else "take it out and run again to go on without"
    )


def _episodes(reports: Reports) -> list[Report]:
    """The reports of stages that play episodes."""
    return [report for report in reports.values() if report["kind"] == "episodes"]


def _worth_a_look(run: Run) -> str | None:
    """A trajectory of the current flow: a valid one, else one that ended in a fault."""
    state = run.ledger.state
    valid = state.current_valid()
    if valid:
        return valid[0]

    whole, _ = state.visible()

    return next((record.trajectory_id for shard in whole for record in shard.slots), None)


def _unanswered_roles(run: Run) -> Iterator[str]:
    """A line for each role that answered none of its questions in this run, with what its server
    said last.
    """
    for name, breaker in sorted(run.role_breakers.items()):
        found = breaker.unheard()
        if found is not None and name not in (AGENT, USER):
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


def _of_roles(asked: Sequence[tuple[Any, ...]]) -> Iterator[tuple[str, str]]:
    """A line for each kind of question of which some were not answered by what could be read."""
    for role, purpose, questions, _, _, refused, unread in asked:
        counts = {"could not be read": unread, "were refused": refused}
        told = " and ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        if told:
            yield role, f"of {counted_noun(questions, 'question')} ({purpose}) {told}"


def differs(model: str, temperature: float | None, prompts: int, same: int) -> str:
    """That a model answered a prompt in two ways."""
    how = "at its own temperature" if temperature is None else f"at temperature {temperature:g}"
    return f"{model}, asked {counted_noun(prompts, 'prompt')} twice {how}: {same} got one answer"


def _of_turns(run: Run) -> Iterator[tuple[str, str]]:
    """How often a model that plays the user kept to its script, and what had to be mended in the
    models' replies: neither can be seen in a turn.
    """
    user = next((role.user for role in run.roles.values() if role.user is not None), None)
    if all(role.model is None for role in run.roles.values()):
        return

    with connect(run.ledger) as connection:
        ((lines, fell_back, deviations),) = connection.execute(_USER_LINES).fetchall()
        kinds = connection.execute(_REPAIRS).fetchall()
        ((turns,),) = connection.execute(_REPAIRED).fetchall()
        ((refused,),) = connection.execute(REFUSED).fetchall()
        asked = connection.execute(QUESTIONS).fetchall()
        alike = connection.execute(EQUAL_PROMPTS).fetchall()
        twice = connection.execute(SAME_PROMPT).fetchall()

    yield from _of_roles(asked)
    for model, temperature, prompts, same in twice:
        if same < prompts:
            yield "twice", differs(model, temperature, prompts, same)
    for model, prompts, differing in alike:
        if differing:
            yield (
                "sampling",
                f"{model} answered {differing:,} of {prompts:,} equal prompts differently at "
                "temperature 0: it samples",
            )
    if refused:
        yield (
            "refused",
            f"{counted_noun(refused, 'trial')} ended by a refusal of the model; they are no "
            "failures, and stand in no comparison",
        )

    if user is not None and lines:
        left = f"; for {fell_back:,} no wording would do, and the scripted words were said"
        yield (
            "user",
            f"{lines - fell_back:,} of {lines:,} lines worded by {user.name}, {deviations:,} "
            f"deviations turned down{left if fell_back else ''}",
        )

    if kinds:
        more = f", {counted_noun(len(kinds) - SHOWN, 'kind')} more" if len(kinds) > SHOWN else ""
        named = ", ".join(f"{kind} {count:,}" for kind, count in kinds[:SHOWN])
        yield "repairs", f"{counted_noun(turns, 'turn')}: {named}{more}"
