"""cost.json: what has been spent in a run directory, by whom, on which tasks, and for each row of
its datasets.

All attempts count, whatever flow made them: those that ended in faults, calibration's, and those
that a later flow hides. What a
journal holds of episodes that are not finished is told apart: it is paid for, and counted where it
belongs once they are.
"""

import json
from typing import Any

from synth.engine.numbers import counted_noun, short_count
from synth.ledger import StoredLedger
from synth.ledger.log.manifest import Json
from synth.ledger.storage.journal import JournaledReply, recorded
from synth.ledger.views import LedgerConnection, connect
from synth.schemas import Usage

Row = dict[str, Any]
DEAREST = 5
_COUNTS = ("attempts", "model_calls", "prompt_tokens", "cached_tokens", "completion_tokens")
_SUMS = """
  greatest(
    count(*) FILTER (policy IS NOT NULL),
    count(*) FILTER (policy IS NULL AND trajectory_id IS NOT NULL)
  ) AS attempts,
  coalesce(sum(model_calls), 0) AS model_calls,
  coalesce(sum(prompt_tokens), 0) AS prompt_tokens,
  coalesce(sum(cached_tokens), 0) AS cached_tokens,
  coalesce(sum(completion_tokens), 0) AS completion_tokens,
  CASE WHEN coalesce(sum(unpriced_calls), 0) = 0 THEN round(sum(cost_usd), 9) END AS cost_usd,
  round(sum(cost_usd), 9) AS known_cost_usd,
  coalesce(sum(unpriced_calls), 0) AS unpriced_calls"""
"""Of any rows of `spending`: those of the user (they have no policy) stand beside the agent's of
the same attempts.
"""
_TOKENS = "sum(prompt_tokens + completion_tokens)"


def cost(ledger: StoredLedger) -> Json:
    """Sums over the view `spending`. `cost_usd` is null where the price of any call is not known;
    `known_cost_usd` holds the others.
    """
    with connect(ledger) as connection:
        # the view is put together of all attempts each time that it is asked
        connection.execute("CREATE OR REPLACE TEMP TABLE spent AS FROM spending")
        (total,) = _rows(connection, f"SELECT {_SUMS} FROM spent")

        def grouped(by: str) -> list[Row]:
            return _rows(connection, f"SELECT {by}, {_SUMS} FROM spent GROUP BY ALL ORDER BY {by}")

        return {
            "total": total,
            "by": grouped("stage, role, synthesizer, policy, model"),
            "by_outcome": grouped("outcome, fault"),
            "tasks": _by_task(connection),
            "datasets": [_per_row(name, dataset, total) for name, dataset in _datasets(ledger)],
            "unfinished": _unfinished(ledger),
        }


def cost_file(found: Json) -> bytes:
    """As it lies in cost.json."""
    return (json.dumps(found, indent=2) + "\n").encode()


def cost_in_words(found: Json) -> str:
    """For instance: 9.2M tokens in 1,203 calls, $4.10; 46.2k tokens, $0.0205 per row of sft. Empty
    where no model was asked.
    """
    total = found["total"]
    if not total["model_calls"]:
        return ""
    tokens, calls = total["prompt_tokens"] + total["completion_tokens"], total["model_calls"]
    parts = [f"{short_count(tokens)} tokens in {counted_noun(calls, 'call')}{_money(total)}"]

    for one in found["datasets"]:
        if rows := one["rows"]:
            usd = one["cost_usd_per_row"]
            dollars = "" if usd is None else f", ${usd:.3g}"
            each = f"{short_count(round(tokens / rows))} tokens{dollars}"
            parts.append(f"{each} per row of {one['name']}")

    return "; ".join(parts)


def _money(total: Json) -> str:
    """The price as far as it is known, and for how many calls it is not."""
    known, unpriced = total["known_cost_usd"], total["unpriced_calls"]
    if known is None:
        return ""
    without = f" without the {counted_noun(unpriced, 'call')} whose price is not known"
    return f", ${known:,.4g}{without if unpriced else ''}"


def spent(ledger: StoredLedger) -> Usage:
    """What all attempts in the ledger have used."""
    with connect(ledger) as connection:
        (total,) = _rows(connection, f"SELECT {_SUMS} FROM spending")
    return Usage(
        total["prompt_tokens"],
        total["completion_tokens"],
        total["cached_tokens"],
        total["model_calls"],
        total["known_cost_usd"],
    )


def _by_task(connection: LedgerConnection) -> Row:
    """How spending spreads over tasks; each task by itself is a question to `spending`."""
    each = f"SELECT task_id, {_TOKENS} AS tokens, {_SUMS} FROM spent GROUP BY task_id"
    spread = (
        "SELECT count(*) AS tasks, min(tokens) AS least_tokens, median(tokens) AS median_tokens, "
        "avg(tokens) AS mean_tokens, "
        f"max(tokens) AS most_tokens FROM ({each})"
    )
    (found,) = _rows(connection, spread)
    dearest = (
        f"SELECT * EXCLUDE (tokens) FROM ({each}) WHERE tokens > 0 ORDER BY tokens DESC, "
        f"task_id LIMIT {DEAREST}"
    )
    return {**found, "dearest": _rows(connection, dearest)}


def _datasets(ledger: StoredLedger) -> list[tuple[str, Json]]:
    """The datasets of the current flow, as its export stages have reported them."""
    state = ledger.state
    reports = (state.done.get((line.stage, line.stage_key)) for line in state.stages.values())
    return [
        one
        for report in reports
        if report is not None and report["kind"] == "export"
        for one in report["datasets"].items()
    ]


def _per_row(name: str, dataset: Json, total: Row) -> Row:
    """Everything spent over the rows kept: null without rows, and where the total is not known."""
    rows = dataset["rows"]
    found: Row = {"name": name, "kind": dataset["kind"], "path": dataset["path"], "rows": rows}
    for what in (*_COUNTS, "cost_usd"):
        found[f"{what}_per_row"] = total[what] / rows if rows and total[what] is not None else None
    return found


def _unfinished(ledger: StoredLedger) -> Row:
    """Replies in the journals of this machine whose attempt is not committed: episodes that were
    interrupted.
    """
    events, _ = recorded(ledger.journal_folder)
    shards = ledger.state.shards if events else ()
    committed = {(one.slot_id, one.attempt) for shard in shards for one in shard.slots}
    left = [found for attempt, found in events.items() if attempt not in committed]
    replies = (event for found in left for event in found if isinstance(event, JournaledReply))
    usage = sum((reply.completion.usage for reply in replies), Usage())
    known = None if usage.cost_usd is None else round(usage.cost_usd, 9)

    return {
        "attempts": len(left),
        "model_calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost_usd": None if usage.unpriced else known,
        "known_cost_usd": known,
        "unpriced_calls": usage.unpriced,
    }


def _rows(connection: LedgerConnection, sql: str) -> list[Row]:
    relation = connection.execute(sql)
    names = [column[0] for column in relation.description]
    return [dict(zip(names, row, strict=True)) for row in relation.fetchall()]
