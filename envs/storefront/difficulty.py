"""What makes a task hard, as it is recorded with the task."""

from collections.abc import Mapping, Sequence
from typing import Any

from envs.storefront.config import StorefrontConfig
from envs.storefront.intents import Intent
from envs.storefront.places import Place
from envs.storefront.policy_text import rule_texts
from envs.storefront.script import WRITE_KINDS, Script
from envs.storefront.world import BaseWorld
from schemas.check import Scalar

MOST_LOOK_UPS = 6
_BY_KIND = {"return": 2, "exchange": 1, "address": 1, "out_of_scope": -1, "refund_query": 1, "track": 1, "price_query": 0}
"""Look-ups beside finding and reading the order: file and quote, catalogue, file, ..."""


def look_ups(intent: Intent) -> int:
    """The fewest look-ups that settle this request: a list and a search where no id was said, the order, and what its kind needs."""
    found = 0 if intent.request.order_id is not None or intent.referent is None else 2
    return min(MOST_LOOK_UPS, found + 1 + _BY_KIND.get(intent.request.kind, 0) + (1 if intent.request.after else 0))


def first_write(intents: Sequence[Intent]) -> int:
    """The fewest look-ups before something can be written; before something can be answered, where nothing is to be written."""
    writing = [intent for intent in intents if intent.request.kind in WRITE_KINDS and intent.request.kind != "out_of_scope"]
    return min(map(look_ups, writing or intents))


def recorded(
    config: StorefrontConfig,
    base: BaseWorld,
    at: Place,
    customer_id: str,
    intents: Sequence[Intent],
    script: Script,
    facts: Mapping[str, Scalar],
) -> dict[str, Any]:
    """Every dial as it stands in this task."""
    refusals = [refusal.rule for intent in intents for refusal in intent.refusals]
    candidates = [intent.referent.candidates for intent in intents if intent.referent is not None]
    twists = sorted({twist for intent in intents for twist in intent.twists})
    words = sum(len(text.split()) for text in rule_texts(base.rules, config.policy).values())
    namesakes = len(base.customers_by["name"][script.name]) - 1
    return {
        "kind": at.kind,
        "pair": None if at.pair is None else f"pair-{at.pair}",
        "operations": len(intents),
        "kinds": [intent.request.kind for intent in intents],
        "by_description": sum(1 for intent in intents if intent.referent is not None and intent.request.order_id is None),
        "by_relation": sum(1 for intent in intents if intent.request.after is not None),
        "ambiguous": sum(1 for count in candidates if count > 1),
        "candidates": max(candidates, default=1),
        "refusal": refusals[0] if refusals else None,
        "twists": twists,
        "look_ups": first_write(intents),
        "distractors": len(base.orders_of.get(customer_id, ())) - len([c for c in candidates if c]) + namesakes,
        "rules_in_force": len(base.rules.in_force),
        "rules_enforced": len(base.rules.enforced),
        "policy": config.policy,
        "policy_words": words,
        "page_size": config.page_size,
        "events": len(script.events),
        "transient_rate": config.transient_rate,
        "unknown_slots": 3 - len(script.slots),
        "changes_of_mind": len(script.revisions),
        "false_claims": twists.count("false_claim"),
        "pressure": script.pressure,
        "verbosity": config.verbosity,
        "injection": any(path.endswith("/text") for path in facts),
        "dialogue": config.dialogue,
        "budget_slack": config.budget_slack,
    }
