"""How often a model that plays the user kept to its script: told at the end of a run, for scripted
words look like any others.
"""

from synth.engine.context import Run
from synth.ledger.views import connect

_COUNTS = """
SELECT count(*) FILTER (note IN ('worded', 'fell_back')), count(*) FILTER (note = 'fell_back'),
  count(*) FILTER (note NOT IN ('worded', 'fell_back'))
FROM (SELECT unnest(user_simulator) AS note FROM turns)
"""


def user_words(run: Run) -> str | None:
    """For instance: 812 lines worded by my-model, 40 deviations turned down, 3 lines said as
    scripted.

    None where rules play the user, and before a line is said.
    """
    user = next((role.user for role in run.roles.values() if role.user is not None), None)
    if user is None:
        return None
    with connect(run.ledger) as connection:
        found = connection.execute(_COUNTS).fetchone()
    lines, fell_back, deviations = found or (0, 0, 0)
    if not lines:
        return None
    said = (
        f"{lines - fell_back:,} of {lines:,} lines worded by {user.name}, {deviations:,} "
        "deviations turned down"
    )
    return (
        f"{said}; for {fell_back:,} no wording would do, and the scripted words were said"
        if fell_back
        else said
    )
