"""Chains that the ledger holds, by key: what was reflected and played is not made again, whatever
flow made it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.ledger.ledger import Ledger, Score
from synth.ledger.views import connect
from synth.synthesizers.reflection.carried import EVIDENCE, PDI
from synth.synthesizers.reflection.chain import CHAIN, REFLECTION
from synth.synthesizers.reflection.likelihood import GAIN
from synth.synthesizers.reflection.off_policy import OFF_POLICY
from synth.synthesizers.reflection.price import Tokens
from synth.synthesizers.reflection.reflection import Reflection
from synth.synthesizers.reflection.reflectors import Reflected

Detail = Mapping[str, Any]
OF_A_CHAIN = (CHAIN, REFLECTION, PDI, EVIDENCE, GAIN, OFF_POLICY)


class Finished(msgspec.Struct, frozen=True):
    """A chain as it was committed: under which stage key, and its detail."""

    stage_key: str
    detail: Detail


class Recorded(msgspec.Struct, frozen=True):
    """A reflection as it was committed: about which attempt, what it said, and the retry that
    followed, if one did.
    """

    subject_id: str
    reflected: Reflected
    retry: str | None


def finished(
    ledger: Ledger, keys: Iterable[str], stage_key: str, attempts: int, measured: Detail
) -> dict[str, Finished]:
    """The chains among these keys that are settled for so many attempts and measured so; that of
    `stage_key`, where two keys hold one.

    A chain that came to its end because no more attempts were allowed is not settled for more of
    them, nor one that had more for fewer.
    """
    found: dict[str, Finished] = {}
    for score, under in _rows(ledger, keys, (CHAIN,)):
        detail = score.detail or {}
        enough = detail["made"] == attempts if detail["exhausted"] else detail["made"] <= attempts
        if (
            detail["settled"]
            and enough
            and detail["measured"] == measured
            and (detail["key"] not in found or under == stage_key)
        ):
            found[detail["key"]] = Finished(under, detail)
    return found


def recorded(ledger: Ledger, keys: Iterable[str]) -> dict[tuple[str, int], Recorded]:
    """The reflections of these chains, by key and number of the attempt."""
    found: dict[tuple[str, int], Recorded] = {}
    for score, _ in _rows(ledger, keys, (REFLECTION,)):
        detail = score.detail or {}
        at = (detail["key"], detail["attempt"])
        if detail["reflection"] is not None and (at not in found or found[at].retry is None):
            said = msgspec.convert(detail["reflection"], Reflection)
            spent = msgspec.convert(detail["tokens"], Tokens)
            found[at] = Recorded(score.subject_id, Reflected(said, spent=spent), detail["retry"])
    return found


def rows_of(ledger: Ledger, keys: Mapping[str, str]) -> list[Score]:
    """The score rows of chains, given as key -> stage key, as they stand there."""
    return [
        score
        for score, under in _rows(ledger, keys, OF_A_CHAIN)
        if keys[(score.detail or {})["key"]] == under
    ]


def _rows(
    ledger: Ledger, keys: Iterable[str], metrics: Sequence[str]
) -> Iterator[tuple[Score, str]]:
    """Rows of these chains with their stage keys, whatever flow wrote them."""
    sql = """SELECT subject_id, metric, value, turn, detail, stage_key FROM scores_all
        WHERE metric IN (SELECT unnest(?)) AND json_extract_string(detail, '$.key') IN (SELECT unnest(?)) ORDER BY ALL"""
    with connect(ledger) as connection:
        for subject, metric, value, turn, text, stage_key in connection.execute(
            sql, [list(metrics), list(keys)]
        ).fetchall():
            yield Score(subject, metric, value, turn, json.loads(text)), stage_key


def details(ledger: Ledger, stage_key: str, metric: str) -> list[Score]:
    """The rows of a metric under a stage key."""
    with connect(ledger) as connection:
        sql = (
            "SELECT subject_id, value, turn, detail FROM scores_all WHERE metric = ? AND "
            "stage_key = ? ORDER BY ALL"
        )
        rows = connection.execute(sql, [metric, stage_key]).fetchall()
    return [
        Score(subject, metric, value, turn, json.loads(text)) for subject, value, turn, text in rows
    ]


def chains_of(ledger: Ledger, stage_key: str) -> list[Detail]:
    """The details of the chains under a stage key, one per chain: the settled one where a fault was
    tried again.
    """
    found: dict[str, Detail] = {}
    for score in details(ledger, stage_key, CHAIN):
        detail = score.detail or {}
        if detail["settled"] or detail["key"] not in found:
            found[detail["key"]] = detail
    return [found[key] for key in sorted(found)]
