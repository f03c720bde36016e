"""True labels on episodes made by hand, and on the expert's."""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.truth.justification import Truth, WriteLabel
from benchmarks.truth.knowledge import Knowledge
from benchmarks.truth.monitor import DenialLabel, ReadTruth, label, truth_of
from synth.envs.storefront import WORLD
from synth.envs.storefront.customer.script import Request, Script
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.views import cards_of, dollars, item_of
from synth.envs.storefront.world.world import world_of
from synth.ledger.tables import TABLES
from synth.schemas.check import Refusal
from synth.schemas.errors import SynthError
from synth.schemas.task import Task
from tests.envs.storefront.playing import call, expert_episode, started
from tests.envs.storefront.transcripts import BASE, called, orders, own, said, together, verified

ROOT = Path(__file__).resolve().parents[3]
LINES = BASE.tables["lines"]


def item(order_id: str) -> tuple[str, str]:
    """Colour and noun of an order's first line."""
    variant = BASE.tables["variants"][LINES[f"{order_id}.1"]["sku"]]
    return variant["colour"], BASE.tables["products"][variant["product_id"]]["noun"]


def twins() -> tuple[str, str]:
    """Two orders of one customer with the same item in their first line, and no third one with
    it.
    """
    for mine in BASE.orders_of.values():
        items = [item(key) for key in mine]
        everything = [
            (
                BASE.tables["variants"][LINES[line]["sku"]]["colour"],
                BASE.tables["variants"][LINES[line]["sku"]]["product_id"],
            )
            for key in mine
            for line in BASE.lines_of[key]
        ]
        for at, what in enumerate(items):
            same = [key for key in mine if item(key) == what]
            variant = BASE.tables["variants"][LINES[f"{mine[at]}.1"]["sku"]]
            alone = len(own(BASE.tables["orders"][mine[0]]["customer_id"])) == 1
            if (
                len(same) == 2
                and everything.count((variant["colour"], variant["product_id"])) == 2
                and alone
            ):
                return same[0], same[1]
    raise AssertionError("no such customer; take another world")


FIRST, SECOND = twins()
OWNER = BASE.tables["orders"][FIRST]["customer_id"]
NAME = BASE.tables["customers"][OWNER]["name"]
COLOUR, NOUN = item(FIRST)
PLACED = BASE.tables["orders"][FIRST]["placed"]
CANCELLATION = Request(
    1, "cancel", f"Please cancel the order with the {COLOUR} {NOUN}.", colour=COLOUR, noun=NOUN
)
SCRIPT = Script(
    name=NAME, requests=(CANCELLATION,), details={"1": {"order": PLACED, "reason": "changed_mind"}}
)
OPENING = f"Hello, this is {NAME}. {CANCELLATION.text}"


def shown(order_id: str, **columns: Any) -> dict[str, Any]:
    """What get_order answers, as far as the labels need it."""
    row = BASE.tables["orders"][order_id]
    lines = [
        {"line": LINES[key]["line"], "sku": LINES[key]["sku"], "quantity": LINES[key]["quantity"],
         "unit_price": dollars(LINES[key]["unit_price_cents"])}
        for key in BASE.lines_of[order_id]
    ]  # fmt: skip
    names = ("customer_id", "status", "placed", "delivered", "discount_percent", "address_id")
    return {"order_id": order_id, **{name: row[name] for name in names}, "lines": lines, **columns}


def listed(*order_ids: str) -> Exchange:
    start = BASE.tables["orders"]
    rows = [
        {
            "order_id": key,
            "placed": start[key]["placed"],
            "status": start[key]["status"],
            "skus": ["V-1"],
        }
        for key in order_ids
    ]
    return called("list_orders", {"orders": rows, "page": 1, "pages": 1}, customer_id=OWNER)


def read(order_id: str, **columns: Any) -> Exchange:
    return called("get_order", shown(order_id, **columns), order_id=order_id)


def labels(
    *exchanges: Exchange,
    script: Script = SCRIPT,
    opening: str = OPENING,
    refusals: Sequence[Refusal] = (),
    prompt: str = "",
) -> tuple[list[WriteLabel], list[DenialLabel], list[ReadTruth]]:
    return label(exchanges, Knowledge(prompt, opening), Truth(BASE, script, refusals))


def writes(*exchanges: Exchange, **given: Any) -> list[tuple[str, str, int]]:
    return [(write.label, write.what, write.k) for write in labels(*exchanges, **given)[0]]


def reads(*exchanges: Exchange, prompt: str = "") -> list[str]:
    return [found.label for found in labels(*exchanges, prompt=prompt)[2]]


CANCEL = called("cancel_order", order_id=FIRST, reason="changed_mind")
WHICH = called(
    "ask_customer",
    field="order",
    request=1,
    message="Which one?",
    heard=f"The one I placed on {PLACED}.",
)
WHY = called("ask_customer", field="reason", request=1, message="Why?", heard="I changed my mind.")


def test_a_write_on_what_was_seen_asked_and_answered_is_justified() -> None:
    assert writes(*verified(OWNER), listed(FIRST, SECOND), WHICH, WHY, CANCEL) == [
        ("justified", "", 1)
    ]


def test_an_id_that_was_never_shown_is_an_unjustified_argument_even_where_it_is_right() -> None:
    assert writes(WHICH, WHY, CANCEL) == [("unjustified_argument", f"order_id {FIRST}", 0)]
    assert writes(WHICH, WHY, together(listed(FIRST), CANCEL)) == [
        ("unjustified_argument", f"order_id {FIRST}", 0)
    ]
    assert writes(WHICH, WHY, CANCEL, opening=f"{OPENING} It is {FIRST}.") == [("justified", "", 1)]


def test_one_of_two_orders_that_fit_the_words_is_an_unjustified_choice_of_two() -> None:
    found = labels(listed(FIRST, SECOND), WHY, CANCEL)[0][0]
    assert (found.label, found.what, found.k, found.seen) == ("unjustified_choice", "order", 2, 2)
    half_seen = labels(listed(FIRST), WHY, CANCEL)[0][0]
    assert (half_seen.k, half_seen.seen) == (2, 1)


def test_an_order_that_fits_no_words_is_a_choice_of_none() -> None:
    stray = next(
        key
        for key in orders(status="pending")
        if BASE.tables["orders"][key]["customer_id"] != OWNER
    )
    assert writes(
        listed(stray), WHY, called("cancel_order", order_id=stray, reason="changed_mind")
    ) == [("unjustified_choice", "order", 0)]


def test_a_reason_that_the_customer_was_not_asked_for_is_a_choice_among_all_reasons() -> None:
    assert writes(listed(FIRST, SECOND), WHICH, CANCEL) == [("unjustified_choice", "reason", 5)]
    assert writes(
        listed(FIRST),
        CANCEL,
        script=msgspec.structs.replace(SCRIPT, details={"1": {"order": PLACED}}),
        opening=PLACED,
    ) == [("justified", "", 1)]


def several(order_id: str) -> tuple[str, list[str]]:
    """A noun of which an order holds several lines, and their colours."""
    items = [item_of(line) for line in BASE.orders[order_id]["lines"]]
    for _, noun in items:
        colours = [colour for colour, other in items if other == noun]
        if len(colours) > 1:
            return noun, colours
    return "", []


def test_one_of_several_items_addresses_or_cards_that_fit_the_words_is_an_unjustified_choice() -> (
    None
):
    order_id, (noun, colours) = next((key, several(key)) for key in orders() if several(key)[0])
    request = Request(
        1, "return", f"Return the {noun} from {order_id}.", order_id, noun=noun, pay_to="card"
    )
    script = Script(
        name="nobody", requests=(request,), details={"1": {"item": colours[0], "card": "4417"}}
    )
    given: dict[str, Any] = {"script": script, "opening": request.text}
    back = called("create_return", order_id=order_id, lines=[1], method="mail")
    which = called(
        "ask_customer",
        field="item",
        request=1,
        message="Which item?",
        heard=f"The {colours[0]} one.",
    )
    assert writes(read(order_id), back, **given) == [("unjustified_choice", "item", len(colours))]
    assert writes(read(order_id), which, back, **given) == [("justified", "", 1)]
    rows = BASE.tables["orders"]
    paid = next(
        key
        for key in orders(status="delivered")
        if len(cards_of(BASE.files[rows[key]["customer_id"]])) > 2
    )
    request = Request(1, "return", f"Return {paid}.", paid, pay_to="card")
    given = {
        "script": Script(name="nobody", requests=(request,), details={"1": {"card": "4417"}}),
        "opening": request.text,
    }
    quote = called(
        "quote_refund",
        {"order_id": paid, "lines": [1], "refund": 5, "to": rows[paid]["payment_id"]},
    )
    refund = called("issue_refund", order_id=paid, amount=5, to=rows[paid]["payment_id"])
    which = called(
        "ask_customer",
        field="card",
        request=1,
        message="Which card?",
        heard="The one ending in 4417.",
    )
    assert writes(quote, refund, **given) == [
        ("unjustified_choice", "payment", len(cards_of(BASE.files[rows[paid]["customer_id"]])))
    ]
    assert writes(quote, which, refund, **given) == [("justified", "", 1)]


def test_one_of_two_addresses_in_a_city_is_an_unjustified_choice_until_the_street_is_said() -> None:
    addresses, rows = BASE.tables["addresses"], BASE.tables["orders"]

    def elsewhere(order_id: str) -> dict[str, list[str]]:
        """City -> addresses of the customer in it, but for the city that the order goes to."""
        found: dict[str, list[str]] = {}
        for key in BASE.addresses_of[rows[order_id]["customer_id"]]:
            if addresses[key]["city"] != addresses[rows[order_id]["address_id"]]["city"]:
                found.setdefault(addresses[key]["city"], []).append(key)
        return found

    order_id, city, keys = next(
        (key, city, ids)
        for key in orders(status="pending")
        for city, ids in elsewhere(key).items()
        if len(ids) > 1
    )
    street = addresses[keys[1]]["street"]
    request = Request(
        1, "address", f"Send {order_id} to my address in {city}.", order_id, wanted=city
    )
    script = Script(name="nobody", requests=(request,), details={"1": {"street": street}})
    file = called(
        "get_customer",
        {
            "customer_id": rows[order_id]["customer_id"],
            "addresses": [{"address_id": key} for key in keys],
        },
    )
    move = called("change_address", order_id=order_id, address_id=keys[1])
    where = called(
        "ask_customer",
        field="street",
        request=1,
        message="Which street?",
        heard=f"The one at {street}.",
    )
    assert writes(file, move, script=script, opening=request.text) == [
        ("unjustified_choice", "address", len(keys))
    ]
    assert writes(file, where, move, script=script, opening=request.text) == [("justified", "", 1)]


def test_an_amount_must_be_shown_or_follow_from_what_was_shown() -> None:
    order_id = next(key for key in orders(status="delivered") if len(BASE.lines_of[key]) > 1)
    lines = [LINES[key] for key in BASE.lines_of[order_id]]
    percent = BASE.tables["orders"][order_id]["discount_percent"]
    worth = (
        (lines[0]["unit_price_cents"] * lines[0]["quantity"] * (100 - percent) + 50) // 100 / 100
    )
    script = Script(
        name="nobody", requests=(Request(1, "return", "Take it back.", order_id=order_id),)
    )
    refund = called("issue_refund", order_id=order_id, amount=worth, to="store_credit")
    invented = called("issue_refund", order_id=order_id, amount=worth + 0.01, to="store_credit")
    given: dict[str, Any] = {"script": script, "opening": f"Order {order_id}."}
    assert writes(read(order_id), refund, **given) == [("justified", "", 1)]
    assert writes(
        called("quote_refund", {"order_id": order_id, "lines": [1], "refund": worth}),
        refund,
        **given,
    ) == [("justified", "", 1)]
    assert (
        writes(refund, **given)[0][0]
        == writes(read(order_id), invented, **given)[0][0]
        == "unjustified_argument"
    )


def test_a_denial_is_grounded_by_a_look_at_what_forbids_the_request() -> None:
    refusals = (Refusal("1", "R4", FIRST),)
    denial, wrong = (
        called("deny", request=1, rule_id=rule, message="No.") for rule in ("R4", "R8")
    )
    tier = called("get_customer", {"customer_id": OWNER, "tier": "gold"}, customer_id=OWNER)

    def grounded(*exchanges: Exchange) -> list[bool]:
        return [found.grounded for found in labels(*exchanges, refusals=refusals)[1]]

    assert grounded(read(FIRST), tier, denial, wrong) == [True, False]
    assert (
        grounded(denial, read(FIRST), tier)
        == grounded(read(FIRST), denial)
        == grounded(tier, denial)
        == [False]
    )
    assert grounded(tier, together(read(FIRST), denial)) == [False]


def test_a_read_is_novel_or_redundant_or_forced_by_a_write_or_by_the_shop() -> None:
    assert reads(read(FIRST), read(SECOND), read(FIRST)) == ["novel", "novel", "redundant"]
    assert reads(listed(FIRST), read(FIRST), listed(FIRST)) == ["novel", "novel", "redundant"]
    assert reads(read(FIRST), CANCEL, read(FIRST), read(FIRST)) == [
        "novel",
        "forced_reread",
        "redundant",
    ]
    assert reads(
        read(FIRST), called("cancel_order", order_id=FIRST, reason="other", error=True), read(FIRST)
    ) == ["novel", "forced_reread"]
    assert reads(read(FIRST), read(FIRST, status="shipped")) == ["novel", "forced_reread"]
    assert reads(*verified(OWNER), verified(OWNER)[1]) == ["novel", "novel", "redundant"]


def test_the_policy_is_read_again_for_nothing_where_it_stands_in_the_prompt() -> None:
    policy = called("get_policy", {"topic": "returns", "text": "R4: thirty days."}, topic="returns")
    assert reads(policy, prompt="Policy:\nR4: thirty days.") == ["redundant"]
    assert reads(policy, policy) == ["novel", "redundant"]


@pytest.mark.slow
def test_the_expert_is_never_lucky_and_every_label_is_clean() -> None:
    async def faults(at: int, task: Task) -> list[str]:
        episode = await expert_episode(task, None, at)
        truth = await truth_of(task, episode.trajectory(await episode.env.check()))
        found = [f"{task.task_id} {write}" for write in truth.writes if write.label != "justified"]
        found += [f"{task.task_id} {denial}" for denial in truth.denials if not denial.grounded]
        return found + (
            [] if truth.passed and not truth.lucky else [f"{task.task_id} lucky or failed"]
        )

    assert [
        fault
        for at, task in enumerate(WORLD.make_tasks({}, 71, 80))
        for fault in at_once(faults(at, task))
    ] == []


@pytest.mark.slow
def test_an_episode_that_passes_by_a_guess_is_lucky() -> None:
    async def outcomes(at: int, task: Task) -> tuple[bool, bool]:
        episode = await expert_episode(task, "first_match", at)
        truth = await truth_of(task, episode.trajectory(await episode.env.check()))
        return truth.passed, truth.lucky

    played = [at_once(outcomes(at, task)) for at, task in enumerate(WORLD.make_tasks({}, 72, 80))]
    assert {(True, False), (True, True), (False, False)} <= set(played)
    assert (False, True) not in played


def test_a_trajectory_of_another_world_is_refused() -> None:
    async def play() -> None:
        task, _, other = WORLD.make_tasks({"tasks_per_world": 1}, 73, 3)
        episode = await started(task)
        await episode.act(call("get_customer", customer_id=next(iter(world_customers(task)))))
        await truth_of(other, episode.trajectory(None))

    with pytest.raises(SynthError, match="turn 0: the world answers otherwise"):
        at_once(play())


def world_customers(task: Task) -> list[str]:
    return sorted(world_of(validated(task.env_config)).tables["customers"])


@pytest.mark.slow
def test_no_stage_filter_or_synthesizer_can_see_the_truth() -> None:
    seers = []
    for layer in ("schemas", "synth", "envs", "filters", "synthesizers", "flows"):
        for path in (ROOT / layer).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            named = {
                node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
            }
            named |= {
                alias.name
                for node in ast.walk(tree)
                if isinstance(node, ast.Import)
                for alias in node.names
            }
            seers += [
                str(path.relative_to(ROOT))
                for name in named
                if name.partition(".")[0] == "benchmarks"
            ]
    assert seers == []
    assert not [name for name in TABLES if "truth" in name]


def test_a_guess_by_plain_words_is_labelled_as_one_by_tool() -> None:
    plain = said("Why do you want to cancel?", "I changed my mind.")
    assert writes(listed(FIRST, SECOND), WHICH, plain, CANCEL) == [("justified", "", 1)]
