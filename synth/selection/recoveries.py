"""What came back from an error: base trials by the stage `topology`, injected runs by the stage
that put the mistake there.
"""

from collections.abc import Mapping

import msgspec

from synth.ledger.ledger import Ledger
from synth.ledger.views import connect
from synth.selection.recovery_view import recovery_masks

ENVIRONMENT = "environment"


class Recoveries(msgspec.Struct, frozen=True):
    """`masks`: trajectory -> its turns that made it worse, with the reason; `sides`: injected run
    -> whose mistake it came back from.
    """

    masks: Mapping[str, Mapping[int, str]]
    sides: Mapping[str, str]

    def masks_of(self, identity: str) -> Mapping[int, str]:
        """Turns without loss; none where it did not recover, or its own masks say it."""
        return self.masks.get(identity, {})


def recoveries(ledger: Ledger) -> Recoveries:
    """Those of the current flow."""
    of_trials = """SELECT r.subject_id, r.detail, p.detail FROM scores r JOIN scores p USING (subject_id, stage_key)
        WHERE r.metric = 'recovered' AND r.value = 1 AND p.metric = 'potential'"""
    of_injected = (
        "SELECT subject_id, json_extract_string(detail, '$.side') FROM scores WHERE metric = "
        "'recovery' AND value = 1"
    )
    masks: dict[str, Mapping[int, str]] = {}
    with connect(ledger) as connection:
        answer = connection.cursor().execute(of_trials)
        while rows := answer.fetchmany(500):
            for identity, recovered, potential in rows:
                masks[identity] = recovery_masks(
                    msgspec.json.decode(recovered), msgspec.json.decode(potential)
                )
        sides = dict(connection.execute(of_injected).fetchall())
    return Recoveries(masks, sides)
