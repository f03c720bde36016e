"""Transcripts written by hand: what was called, with its answer, and what was said and heard."""

from typing import Any

import msgspec

from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.check.process import Breach, breaches
from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.tools.transcript import Exchange, event_log
from synth.envs.storefront.world.world import BaseWorld, base_world
from synth.schemas.canonical import canonical_json
from synth.schemas.environment import AgentTurn
from synth.schemas.trajectory import Observation, Source, ToolCall

BASE: BaseWorld = base_world(5, 32, 122)


def orders(**columns: Any) -> list[str]:
    """Ids of the orders with these values, that are no gifts and whose customer has one account."""
    rows = BASE.tables["orders"]
    found = [
        key
        for key, row in rows.items()
        if all(row[name] == value for name, value in columns.items())
    ]
    return sorted(
        key
        for key in found
        if rows[key].get("recipient_id") is None and len(own(rows[key]["customer_id"])) == 1
    )


def own(customer_id: str) -> tuple[str, ...]:
    """The accounts of the person who has this one."""
    return BASE.customers_by["name"][BASE.tables["customers"][customer_id]["name"]]


def called(
    tool: str,
    result: dict[str, Any] | None = None,
    *,
    heard: str | None = None,
    error: bool = False,
    **arguments: Any,
) -> Exchange:
    """A turn of one call; `heard` is what the customer said after it."""
    answer = canonical_json(result if result is not None else {"ok": True}).decode()
    words = (Observation(heard, Source.USER),) if heard is not None else ()
    turn = AgentTurn(tool_calls=(ToolCall("c", tool, canonical_json(arguments).decode()),))
    return Exchange(turn, (Observation(answer, call_id="c", name=tool, error=error), *words))


def together(*exchanges: Exchange) -> Exchange:
    """The calls of several turns in one turn."""
    tools = tuple(o for e in exchanges for o in e.observations if o.source is Source.TOOL)
    words = tuple(o for e in exchanges for o in e.observations if o.source is Source.USER)
    return Exchange(
        AgentTurn(tool_calls=tuple(c for e in exchanges for c in e.turn.tool_calls)), tools + words
    )


def said(text: str, heard: str | None = None) -> Exchange:
    """A turn of plain text."""
    return Exchange(
        AgentTurn(text), (Observation(heard, Source.USER),) if heard is not None else ()
    )


def verified(customer_id: str) -> list[Exchange]:
    """Two factors of a customer, verified one after the other."""
    factors: list[list[str]] = [["zip"], ["phone", "zip"]]
    return [
        called(
            "verify_identity",
            {"customer_id": customer_id, "verified": shown},
            customer_id=customer_id,
        )
        for shown in factors
    ]


def viewed(
    *exchanges: Exchange,
    speaker: str | None = None,
    opening: str = "",
    script: Script | None = None,
    base: BaseWorld = BASE,
) -> EpisodeView:
    """A transcript as the automata see it."""
    told = script or Script()
    named = told if speaker is None else msgspec.structs.replace(told, name=speaker)
    accounts = frozenset(base.customers_by["name"].get(named.name, ()))
    return EpisodeView(event_log(exchanges), base, accounts, opening, named)


def broken(
    rule: str,
    *exchanges: Exchange,
    speaker: str | None = None,
    opening: str = "",
    script: Script | None = None,
) -> list[int]:
    """The turns in which a rule was broken."""
    found: list[Breach] = breaches(
        (rule,), viewed(*exchanges, speaker=speaker, opening=opening, script=script)
    )
    return [breach.turn for breach in found]
