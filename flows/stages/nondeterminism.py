"""Some trials are done again in their environments, and the answers compared with the recorded
ones: what differs is nondeterministic, or a fault.
"""

from collections.abc import Iterable, Mapping

from synth.boundary import FaultError, guard_async
from synth.engine.context import Run
from synth.ledger.with_tasks import with_tasks
from synth.schemas import (
    AgentTurn,
    ConfigError,
    Env,
    Fault,
    SampledBy,
    Task,
    Trajectory,
    content_hash,
    valid_text,
)
from synth.topology.nondeterminism.fields import (
    Asked,
    Compared,
    Field,
    nondeterministic_fields,
    tool_of,
)

TIMEOUT_S = 300.0
"""For all of one trial: an environment that hangs teaches nothing."""

ASKING = 500
"""Tasks beside those of the chosen trials that are asked what they ask for."""


async def learned_fields(
    run: Run, trials: Mapping[str, Iterable[str]], count: int, *, every: bool
) -> dict[str, list[Field]]:
    """Environment -> what differed, from `count` of its trials (by task), drawn by their ids; those
    that are not here teach nothing.

    Unless `every` environment is meant, only those that call themselves deterministic are stepped:
    in others, such as a server of somebody's own, what is done again may have effects. A trial is
    followed up to where its environment goes another way: another state, another error, another
    number of answers.
    """
    ledger, environments = run.ledger, run.ledger.task_ids()
    drawn: dict[str, list[str]] = {}
    for task_id, identities in trials.items():
        drawn.setdefault(environments.get(task_id, ""), []).extend(identities)

    found: dict[str, list[Field]] = {}
    for environment, identities in drawn.items():
        if not _may_be_stepped(run, environment, every=every):
            continue

        pairs: list[Compared] = []
        tasks: list[Task] = []
        chosen = set(_drawn("volatile", identities, count))
        for trajectory, task in with_tasks(ledger, ledger.trajectories(chosen)):
            if task is not None:
                tasks.append(task)
                pairs += await _compared(run, trajectory, task)

        # what some of its tasks ask for, the others ask for too: a field with such a value may
        # differ, and must not be masked
        asked = _drawn(
            "asked", (task for task, env in environments.items() if env == environment), ASKING
        )
        tasks += ledger.tasks(asked).values()
        found[environment] = nondeterministic_fields(pairs, Asked.by(tasks))

    return found


def _drawn(what: str, identities: Iterable[str], count: int) -> list[str]:
    """So many of them, drawn by their hashes: the same on every machine."""
    return sorted(identities, key=lambda identity: content_hash([what, identity]))[:count]


def _may_be_stepped(run: Run, environment: str, *, every: bool) -> bool:
    """Whether an environment is here, and its author says that stepping it again does no harm."""
    try:
        return run.spec_of(environment, {}).deterministic or every
    except ConfigError:  # an environment that is not here
        return False


async def _compared(run: Run, trajectory: Trajectory, task: Task) -> list[Compared]:
    """The answers of one trial beside those that came again; a fault of the environment ends it."""
    env = run.world(task.env, task.env_config)
    pairs: list[Compared] = []

    try:
        await guard_async(
            Fault.ENVIRONMENT, "replay", lambda: _replay(env, trajectory, task, pairs), TIMEOUT_S
        )
    except FaultError as error:
        run.progress.say(
            f"topology: {trajectory.trajectory_id} was not replayed to its end: {error}"
        )
    finally:
        await guard_async(Fault.ENVIRONMENT, "close", env.close, TIMEOUT_S)

    return pairs


async def _replay(env: Env, trajectory: Trajectory, task: Task, pairs: list[Compared]) -> None:
    """Steps one environment through the acts of a trial, and pairs what it said then and now, up to
    the first turn where it went another way.
    """
    opening = await env.reset(task)
    if opening.state_key != trajectory.opening_state_key:
        return

    for turn in trajectory.turns:
        # a canned turn is the environment's own: it says it again by itself
        if turn.sampled_by is SampledBy.CANNED:
            continue

        response = await env.step(AgentTurn(turn.content, turn.tool_calls, turn.thought))

        # as they were before a fault was planted, or a model has worded them
        given = [o.as_given() for o in turn.observations]
        came = [o.as_given() for o in response.observations]
        alike = [(o.source, o.error) for o in given] == [(o.source, o.error) for o in came]
        if not alike or turn.state_key != response.state_key:
            return

        called = {call.call_id: call.name for call in turn.tool_calls}
        pairs += [
            Compared(tool_of(before, called), before.content, valid_text(after.content))
            for before, after in zip(given, came, strict=True)
        ]
