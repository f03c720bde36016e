"""How an episode ended, and what that makes it: the table termination x verdict of the
check x fault.

| termination                                               | passed    | failed    | no verdict |
|-----------------------------------------------------------|-----------|-----------|------------|
| done, agent_stop                                          | success   | failure   | unknown    |
| turn_limit, token_limit, context_limit, time_limit, stuck | truncated | truncated | truncated  |
| unreported (imports that do not say how the run ended)    | success   | failure   | unknown    |
| refused (by the agent's model, or a filter of its server) | unknown   | unknown   | unknown    |
| fault (with exactly one Fault)                            | invalid   | invalid   | invalid    |

A model that refuses shows nothing of what it can do: its trial stands for neither side of a
comparison, and is counted as what it is.

A limit that the agent ran into is not a fault: calling it one would censor the long and looping
runs (rigor: outcomes and censoring).
`invalid` has a fault, no reward and no label; every other outcome has no fault.
"""

from enum import StrEnum


class Outcome(StrEnum):
    """What an episode is worth as evidence."""

    SUCCESS = "success"
    FAILURE = "failure"
    TRUNCATED = "truncated"
    INVALID = "invalid"
    UNKNOWN = "unknown"


class Fault(StrEnum):
    """The boundary at which the machinery broke."""

    MODEL = "model"
    PARSER = "parser"
    ENVIRONMENT = "environment"
    USER_SIMULATOR = "user_simulator"
    JUDGE = "judge"
    TIMEOUT = "timeout"
    INFRASTRUCTURE = "infrastructure"
    DRIFT = "drift"
    BUDGET = "budget"


class Termination(StrEnum):
    """What stopped the episode."""

    DONE = "done"
    AGENT_STOP = "agent_stop"
    TURN_LIMIT = "turn_limit"
    TOKEN_LIMIT = "token_limit"
    CONTEXT_LIMIT = "context_limit"
    TIME_LIMIT = "time_limit"
    STUCK = "stuck"
    REFUSED = "refused"
    FAULT = "fault"
    UNREPORTED = "unreported"


LIMITS = frozenset(
    {
        Termination.TURN_LIMIT,
        Termination.TOKEN_LIMIT,
        Termination.CONTEXT_LIMIT,
        Termination.TIME_LIMIT,
        Termination.STUCK,
    }
)


def settle(termination: Termination, passed: bool | None, fault: Fault | None) -> Outcome:
    """The outcome that the table above gives; `passed` is the gold check's verdict, None where
    there is none.

    Raises `ValueError` where a fault stands without the termination `fault`, or the reverse.
    """
    if (fault is None) is (termination is Termination.FAULT):
        raise ValueError(
            f"termination {termination} with fault {fault}: a fault ends an episode as `fault`, "
            "and nothing else does"
        )
    if termination is Termination.FAULT:
        return Outcome.INVALID
    if termination in LIMITS:
        return Outcome.TRUNCATED
    if passed is None or termination is Termination.REFUSED:
        return Outcome.UNKNOWN
    return Outcome.SUCCESS if passed else Outcome.FAILURE


def contradiction(
    outcome: Outcome, termination: Termination, fault: Fault | None, reward: float | None
) -> str | None:
    """Why such a record cannot exist, or None where the table allows it."""
    if (outcome is Outcome.INVALID) is not (fault is not None):
        return (
            f"outcome {outcome} with fault {fault}: invalid records name their fault, others "
            "have none"
        )
    if (outcome is Outcome.INVALID) is not (termination is Termination.FAULT):
        return f"outcome {outcome} with termination {termination}"
    if termination is Termination.REFUSED and outcome is not Outcome.UNKNOWN:
        return f"outcome {outcome} with termination {termination}: a refusal is no label"
    if outcome is Outcome.INVALID and reward is not None:
        return f"an invalid record with reward {reward}: a fault is never a label"
    if (outcome is Outcome.TRUNCATED) is not (termination in LIMITS):
        return f"outcome {outcome} with termination {termination}"
    return None
