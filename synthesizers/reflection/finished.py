"""Chains that the ledger holds, by key: settled ones are not made again, whatever flow made them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from synth.ledger.ledger import Ledger, Score
from synth.ledger.views import connect
from synthesizers.reflection.chain import CHAIN, REFLECTION

Detail = Mapping[str, Any]


class Finished(msgspec.Struct, frozen=True):
    """A chain as it was committed: under which stage key, and its detail."""

    stage_key: str
    detail: Detail


def finished(ledger: Ledger, keys: Iterable[str], stage_key: str) -> dict[str, Finished]:
    """The settled chains among these keys; where two stage keys hold one, that of `stage_key` is given."""
    found: dict[str, Finished] = {}
    for score, under in _rows(ledger, keys, (CHAIN,)):
        detail = score.detail or {}
        if detail["settled"] and (detail["key"] not in found or under == stage_key):
            found[detail["key"]] = Finished(under, detail)
    return found


def rows_of(ledger: Ledger, keys: Mapping[str, str]) -> list[Score]:
    """The score rows of chains, given as key -> stage key, as they stand there."""
    return [score for score, under in _rows(ledger, keys, (CHAIN, REFLECTION)) if keys[(score.detail or {})["key"]] == under]


def _rows(ledger: Ledger, keys: Iterable[str], metrics: Sequence[str]) -> Iterator[tuple[Score, str]]:
    """Rows of these chains with their stage keys, whatever flow wrote them."""
    sql = """SELECT subject_id, metric, value, turn, detail, stage_key FROM scores_all
        WHERE metric IN (SELECT unnest(?)) AND json_extract_string(detail, '$.key') IN (SELECT unnest(?))"""
    with connect(ledger) as connection:
        for subject, metric, value, turn, text, stage_key in connection.execute(sql, [list(metrics), list(keys)]).fetchall():
            yield Score(subject, metric, value, turn, json.loads(text)), stage_key


def chains_of(ledger: Ledger, stage_key: str) -> list[Detail]:
    """The details of the chains under a stage key, one per chain: the settled one where a fault was tried again."""
    found: dict[str, Detail] = {}
    with connect(ledger) as connection:
        sql = "SELECT detail FROM scores_all WHERE metric = ? AND stage_key = ?"
        for (text,) in connection.execute(sql, [CHAIN, stage_key]).fetchall():
            detail = json.loads(text)
            if detail["settled"] or detail["key"] not in found:
                found[detail["key"]] = detail
    return [found[key] for key in sorted(found)]
