"""What makes a task hard, as it is recorded with the task."""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tasks.intents import Intent
from synth.envs.storefront.tasks.look_ups import first_write
from synth.envs.storefront.tasks.places import Place
from synth.envs.storefront.tools.policy_text import rule_texts
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Scalar


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
    own = base.orders_of[customer_id]
    pages = max(1, -(-len(own) // config.page_size))
    spoken_of = {intent.referent.order_id for intent in intents if intent.referent is not None}
    namesakes = len(base.customers_by["name"][script.name]) - 1
    return {
        "kind": at.kind,
        "pair": None if at.pair is None else f"pair-{at.pair}",
        "level": config.level,
        "operations": len(intents),
        "kinds": [intent.request.kind for intent in intents],
        "by_description": sum(
            1
            for intent in intents
            if intent.referent is not None and not intent.referent.stands_alone
        ),
        "by_relation": sum(1 for intent in intents if intent.request.after is not None),
        "by_other_person": sum("by_other_person" in intent.twists for intent in intents),
        "ambiguous": sum(1 for count in candidates if count > 1),
        "candidates": max(candidates, default=1),
        "refusal": refusals[0] if refusals else None,
        "twists": twists,
        "look_ups": first_write(intents, pages),
        "distractors": len(set(own) - spoken_of) + namesakes,
        "rules_in_force": len(base.rules.in_force),
        "rules_enforced": len(base.rules.enforced),
        "policy": config.policy,
        "policy_words": words,
        "page_size": config.page_size,
        "events": len(script.events),
        "transient_rate": config.transient_rate,
        "unknown_slots": 3 - len(script.slots),
        "changes_of_mind": len(script.revisions),
        "false_claims": sum("false_claim" in intent.twists for intent in intents),
        "pressure": script.pressure,
        "verbosity": config.verbosity,
        "injection": any(path.endswith("/text") for path in facts),
        "dialogue": config.dialogue,
        "budget_slack": config.budget_slack,
    }
