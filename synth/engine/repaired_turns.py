"""What had to be mended in the models' replies: told at the end of a run, for mended calls look
like any others.
"""

from synth.engine.context import Run
from synth.engine.numbers import counted_noun
from synth.ledger.views import connect

SHOWN = 4
"""Kinds in the line, the most frequent first."""
_COUNTS = (
    "SELECT kind, sum(turns)::BIGINT AS turns FROM repairs GROUP BY kind ORDER BY turns DESC, kind"
)
_TURNS = "SELECT count(*) FROM turns WHERE len(repairs) > 0"


def repaired_turns(run: Run) -> str | None:
    """For instance: 812 turns: tool_call_recovered 800, call_id_missing 12. None where nothing was
    mended, or no model asked.
    """
    if all(role.model is None for role in run.roles.values()):
        return None
    with connect(run.ledger) as connection:
        kinds = connection.execute(_COUNTS).fetchall()
        turns = connection.execute(_TURNS).fetchone()
    if not kinds or turns is None:
        return None
    more = f", {counted_noun(len(kinds) - SHOWN, 'kind')} more" if len(kinds) > SHOWN else ""
    return (
        f"{counted_noun(turns[0], 'turn')}: "
        f"{', '.join(f'{kind} {count:,}' for kind, count in kinds[:SHOWN])}{more}"
    )
