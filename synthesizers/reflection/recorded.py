"""Trials that are retried, and what the ledger holds of their chains: what was reflected and played
is not made again, whatever flow made it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from synth.ledger.ledger import Ledger
from synth.ledger.log.state import IMPORT
from synth.ledger.typed import Read, read
from synth.ledger.views import connect
from synth.schemas.labels import RetryLabel
from synth.synthesizers.reflection.reflection import Reflection
from synth.synthesizers.reflection.reflectors import Reflected
from synth.synthesizers.reflection.token_cost import Tokens

ROLLOUT = "rollout"
CHAIN, REFLECTION = "reflect_retry", "reflection"
"""Metrics: of a chain, on its base trial; of a reflection, on the attempt that it is about."""
VERIFIED = "verified"


class ArmResult(msgspec.Struct, frozen=True):
    """What an arm of the comparison at equal cost came to on one failed trial; `kept` are rows that
    are verified and leak-clean.
    """

    price: float
    kept: int
    episodes: int
    overrun: float
    estimated: int


class ChainEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A chain as it is committed, under its key.

    `exhausted`: it ended only because no more retries were allowed; `made` of them were. `measured`:
    how its kept retry was measured; `arms`: what the arms of the comparison came to.
    """

    chain: str
    key: str
    reason: str
    settled: bool
    retries: tuple[str, ...]
    made: int
    exhausted: bool
    measured: Mapping[str, Any]
    gold_informed: bool
    task: str
    price: float
    estimated: int
    arms: Mapping[str, ArmResult] | None = None


class StoredReflection(msgspec.Struct, frozen=True):
    """A reflection as it was committed: about which attempt, what it said, and the retry that
    followed, if one did.
    """

    subject_id: str
    reflected: Reflected
    retry: str | None


def base_trials(
    ledger: Ledger, role: str, outcomes: Sequence[str], per_task: int | None
) -> dict[str, str]:
    """The tasks of a role's trials, and of imported ones, with such an outcome; by trial, those of
    a task in the order of their numbers.
    """
    sql = """SELECT trajectory_id, task_id FROM trajectories
        WHERE ((synthesizer = ? AND role = ?) OR synthesizer = ?) AND outcome IN (SELECT unnest(?))
        QUALIFY row_number() OVER (PARTITION BY task_id ORDER BY trial, trajectory_id) <= ?
        ORDER BY task_id, trial, trajectory_id"""
    most = 2**62 if per_task is None else per_task
    with connect(ledger) as connection:
        values = [ROLLOUT, role, IMPORT, list(outcomes), most]
        return dict(connection.execute(sql, values).fetchall())


def finished(
    ledger: Ledger,
    keys: Iterable[str],
    stage_key: str,
    attempts: int,
    measured: Mapping[str, Any],
) -> dict[str, Read[ChainEnd]]:
    """The chains among these keys that are settled for so many attempts and measured so; that of
    `stage_key`, where two keys hold one.

    A chain that came to its end because no more attempts were allowed is not settled for more of
    them, nor one that had more for fewer.
    """
    found: dict[str, Read[ChainEnd]] = {}
    for row in read(ledger, ChainEnd, (CHAIN,), having=("key", list(keys)), every=True):
        end = row.about
        enough = end.made == attempts if end.exhausted else end.made <= attempts
        first = end.key not in found or row.stage_key == stage_key
        if end.settled and enough and end.measured == measured and first:
            found[end.key] = row
    return found


def recorded(ledger: Ledger, keys: Iterable[str]) -> dict[tuple[str, int], StoredReflection]:
    """The reflections of these chains, by key and number of the attempt."""
    found: dict[tuple[str, int], StoredReflection] = {}
    for row in read(ledger, RetryLabel, (REFLECTION,), having=("key", list(keys)), every=True):
        label = row.about
        at = (label.key, label.attempt)
        if label.reflection is not None and (at not in found or found[at].retry is None):
            said = msgspec.convert(label.reflection, Reflection)
            spent = msgspec.convert(label.tokens, Tokens)
            found[at] = StoredReflection(row.subject_id, Reflected(said, spent=spent), label.retry)
    return found


def chains_of(ledger: Ledger, stage_key: str) -> list[ChainEnd]:
    """The chains under a stage key, each once: the settled one where a fault was tried again."""
    found: dict[str, ChainEnd] = {}
    for row in read(ledger, ChainEnd, (CHAIN,), stage_key=stage_key):
        if row.about.settled or row.about.key not in found:
            found[row.about.key] = row.about
    return [found[key] for key in sorted(found)]
