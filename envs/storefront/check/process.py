"""The policy as process: each rule an automaton over the event log that yields its breaches."""

from collections.abc import Sequence

from synth.envs.storefront.check.case import NO_SCRIPT, Breach, EpisodeView, Found
from synth.envs.storefront.check.conversation_rules import CONVERSATION_RULES, LOOK_UP
from synth.envs.storefront.check.order_rules import ORDER_RULES
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tools.event_log import event_log
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.rules import RULE_IDS
from synth.envs.storefront.world.world import BaseWorld

PROCESS = (*RULE_IDS, LOOK_UP)
"""Every rule, by the name under which a check asks for it. Where tools hold a rule, no breach of it
can succeed.
"""


def case_of(
    exchanges: Sequence[Exchange], base: BaseWorld, opening: str = "", script: Script = NO_SCRIPT
) -> EpisodeView:
    """The case of a conversation with the person whom a script names."""
    own = base.customers_by["name"].get(script.name, ())
    return EpisodeView(event_log(exchanges), base, frozenset(own), opening, script)


def breaches(rules: Sequence[str], case: EpisodeView) -> list[Breach]:
    """What broke the named rules, by turn. A rule that is not in force binds nobody; one without
    automaton counts as broken.
    """
    unknown = f"there is no automaton for it; known: {', '.join(PROCESS)}"
    found = [
        Breach(rule, *breach)
        for rule in rules
        if rule in case.base.rules.in_force or rule not in RULE_IDS
        for breach in (_found(rule, case) if rule in PROCESS else [(0, unknown)])
    ]
    return sorted(found, key=lambda breach: breach.turn)


def _found(rule: str, case: EpisodeView) -> Found:
    if rule in CONVERSATION_RULES:
        return CONVERSATION_RULES[rule](case)
    wrong, *tools = ORDER_RULES[rule]
    return ((write.event.turn, text) for write in case.writes(*tools) for text in wrong(write))
