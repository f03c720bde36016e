"""What a reader of the page must not miss: who made the trajectories, where it was no model, or
somebody who had looked at gold.
"""

from collections.abc import Iterator

from synth.engine.numbers import counted_noun
from synth.ledger.ledger import StoredLedger
from synth.ledger.views import connect

_SQL = """
SELECT count(*), count(*) FILTER (authorship = 'scripted'),
  count(*) FILTER (authorship = 'mixed'), count(*) FILTER (gold_informed)
FROM trajectories
"""


def notices(ledger: StoredLedger) -> Iterator[str]:
    """A line for each, counted in the rows of the current flow."""
    with connect(ledger) as connection:
        ((every, scripted, mixed, informed),) = connection.execute(_SQL).fetchall()
    of = f"of {counted_noun(every, 'trajectory', 'trajectories')}"
    if scripted:
        yield (
            f"{scripted:,} {of} {_were(scripted)} written by scripts, not by a model: no "
            "evidence of what a model can do."
        )
    if mixed:
        yield f"{mixed:,} {of} {_were(mixed)} written in part by scripts or by hand."
    if informed:
        yield (
            f"{informed:,} {of} {_were(informed)} made by someone who had looked at gold "
            "(gold_informed): no evidence of what the policy "
            "can do by itself."
        )


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
