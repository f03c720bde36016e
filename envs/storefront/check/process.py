"""The policy as process: each rule an automaton over the event log that yields its breaches."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from synth.envs.storefront.check.case import NO_SCRIPT, Breach, Case
from synth.envs.storefront.check.conversation_rules import (
    LOOK_UP,
    confirmed_first,
    looked_up_first,
    no_note_obeyed,
    nothing_of_others,
    others_matters_escalated,
    verified_first,
)
from synth.envs.storefront.check.order_rules import (
    cancelled_before_shipping,
    coupons_on_pending_orders,
    gifts_for_credit,
    late_parcels_compensated,
    modified_once,
    no_final_sale,
    refunded_the_way_it_was_paid,
    returned_in_window,
    sent_where_it_may_go,
    small_refunds,
)
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tools.event_log import event_log
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.world import BaseWorld

AUTOMATA: Mapping[str, Callable[[Case], Iterator[Breach]]] = {
    "R1": verified_first,
    "R2": confirmed_first,
    "R3": cancelled_before_shipping,
    "R4": returned_in_window,
    "R5": refunded_the_way_it_was_paid,
    "R6": small_refunds,
    "R7": modified_once,
    "R8": no_final_sale,
    "R9": coupons_on_pending_orders,
    "R10": nothing_of_others,
    "R11": sent_where_it_may_go,
    "R12": late_parcels_compensated,
    "R13": others_matters_escalated,
    "R14": no_note_obeyed,
    "R15": gifts_for_credit,
    LOOK_UP: looked_up_first,
}
"""Every rule, by the name under which a check asks for it. Where tools hold a rule, no breach of it
can succeed.
"""
PROCESS = tuple(AUTOMATA)


def case_of(
    exchanges: Sequence[Exchange],
    base: BaseWorld,
    speaker: str | None,
    opening: str,
    script: Script | None = None,
) -> Case:
    """The case of a conversation with a person of that name."""
    own = base.customers_by["name"].get(speaker, ()) if speaker is not None else ()
    return Case(event_log(exchanges), base, frozenset(own), opening, script or NO_SCRIPT)


def breaches(rules: Sequence[str], case: Case) -> list[Breach]:
    """What broke the named rules, by turn. A rule that is not in force binds nobody; one without
    automaton counts as broken.
    """
    found: list[Breach] = []
    for rule in rules:
        if rule not in AUTOMATA:
            found.append(
                Breach(rule, 0, f"there is no automaton for it; known: {', '.join(AUTOMATA)}")
            )
        elif rule in case.base.rules.in_force or rule == LOOK_UP:
            found += AUTOMATA[rule](case)
    return sorted(found, key=lambda breach: breach.turn)
