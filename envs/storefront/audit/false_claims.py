"""Lies in an agent's last words: acts that it claims and did not do."""

from collections.abc import Iterator
from random import Random

from synth.envs.storefront.audit.alternatives import SolvedTranscript, Turns
from synth.envs.storefront.check.claims import OTHER, TOOLS
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import WRITES

MOST = 3
"""Lies that are tried of one solution."""
_OPEN = ("pending", "processing", "shipped")
_CLAIMS = texts("false_claims")


def false_claim(solution: SolvedTranscript) -> Iterator[Turns]:
    """The agent says in a message before its last turn that it did something which it did not."""
    calls = solution.calls(*WRITES)
    done = {TOOLS[call.tool] for call in calls if call.tool in TOOLS}
    orders = solution.base.tables["orders"]
    own = sorted(key for of in solution.own for key in solution.base.orders_of.get(of, ()))
    spare = [
        key
        for key in own
        if orders[key]["status"] in _OPEN
        and orders[key]["coupon"] is None
        and key not in {call.order_id for call in calls}
    ]
    acts = [act for act in _CLAIMS if act == OTHER or act not in done]
    draw = Random(solution.task_id)

    for act in draw.sample(acts, min(MOST, len(acts))):
        words = draw.choice(_CLAIMS[act])

        if spare or "{order}" not in words:
            message = words.format(order=spare[0] if spare else "")
            yield solution.added("reply", message=message)
