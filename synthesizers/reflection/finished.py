"""Chains that the ledger holds, by key: what was reflected and played is not made again, whatever
flow made it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from synth.ledger.ledger import Ledger, Score
from synth.ledger.typed import Read, read
from synth.schemas.labels import RetryLabel
from synth.synthesizers.reflection.carried import EVIDENCE, PDI
from synth.synthesizers.reflection.chain import CHAIN, REFLECTION, ChainEnd
from synth.synthesizers.reflection.likelihood import GAIN
from synth.synthesizers.reflection.off_policy import OFF_POLICY
from synth.synthesizers.reflection.price import Tokens
from synth.synthesizers.reflection.reflection import Reflection
from synth.synthesizers.reflection.reflectors import Reflected

OF_A_CHAIN = (CHAIN, REFLECTION, PDI, EVIDENCE, GAIN, OFF_POLICY)


class StoredReflection(msgspec.Struct, frozen=True):
    """A reflection as it was committed: about which attempt, what it said, and the retry that
    followed, if one did.
    """

    subject_id: str
    reflected: Reflected
    retry: str | None


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
        if (
            end.settled
            and enough
            and end.measured == measured
            and (end.key not in found or row.stage_key == stage_key)
        ):
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


def rows_of(ledger: Ledger, keys: Mapping[str, str]) -> list[Score]:
    """The score rows of chains, given as key -> stage key, as they stand there."""
    return [
        Score(row.subject_id, row.metric, row.value, row.turn, row.about)
        for under in sorted(set(keys.values()))
        for row in read(
            ledger,
            dict[str, Any],
            OF_A_CHAIN,
            stage_key=under,
            having=("key", [key for key, one in keys.items() if one == under]),
        )
    ]


def chains_of(ledger: Ledger, stage_key: str) -> list[ChainEnd]:
    """The chains under a stage key, each once: the settled one where a fault was tried again."""
    found: dict[str, ChainEnd] = {}
    for row in read(ledger, ChainEnd, (CHAIN,), stage_key=stage_key):
        if row.about.settled or row.about.key not in found:
            found[row.about.key] = row.about
    return [found[key] for key in sorted(found)]
