"""The rules as automata: every one is there, limits over several acts, and what a breach does to a
verdict.
"""

from synth.envs.storefront import WORLD
from synth.envs.storefront.check.check import evaluate
from synth.envs.storefront.check.process import PROCESS
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.world.policy import RULE_IDS
from synth.schemas.check import Check
from synth.schemas.task import Task
from tests.envs.storefront.playing import call, expert_episode
from tests.envs.storefront.rules_exchanges import DELIVERED, OWNER, PENDING
from tests.envs.storefront.transcripts import (
    BASE,
    broken,
    called,
    orders,
    said,
    together,
)


def test_every_rule_has_an_automaton() -> None:
    assert set(PROCESS) == {*RULE_IDS, "look_up"}


def test_r6_refunds_of_an_order_add_up_to_the_limit_at_most() -> None:
    limit = BASE.rules.refund_limit_cents / 100
    half, rest = (
        called("issue_refund", order_id=DELIVERED, amount=amount, to="store_credit")
        for amount in (limit / 2, limit / 2 + 0.01)
    )
    assert broken("R6", half, half) == []
    assert broken("R6", half, rest) == [1]


def test_r4_and_r8_returns_are_opened_within_the_window_and_not_of_final_sales() -> None:
    def category(key: str) -> str:
        sku = BASE.tables["lines"][f"{key}.1"]["sku"]
        return str(BASE.tables["products"][BASE.tables["variants"][sku]["product_id"]]["category"])

    oldest, newest = (
        pick(orders(status="delivered"), key=lambda key: BASE.tables["orders"][key]["delivered"])
        for pick in (min, max)
    )
    final = next(
        key for key in orders(status="delivered") if category(key) in BASE.rules.final_sale
    )
    plain = next(
        key for key in orders(status="delivered") if category(key) not in BASE.rules.final_sale
    )
    back = {
        key: called("create_return", order_id=key, lines=[1], method="mail")
        for key in (oldest, newest, final, plain)
    }
    assert (broken("R4", back[oldest]), broken("R4", back[newest])) == ([0], [])
    assert (broken("R8", back[final]), broken("R8", back[plain])) == ([0], [])


def test_r10_a_message_holds_no_private_value_of_another_customer() -> None:
    customers = BASE.tables["customers"]
    me, other = (
        customers[OWNER],
        next(row for key, row in customers.items() if row["name"] != customers[OWNER]["name"]),
    )
    foreign = next(key for key in orders() if BASE.tables["orders"][key]["customer_id"] != OWNER)
    for value in (other["email"], other["phone"], foreign):
        assert broken("R10", said(f"It is {value}."), speaker=me["name"]) == [0]
        assert (
            broken("R10", said(f"It is {value}."), speaker=me["name"], opening=f"Whose is {value}?")
            == []
        )
    assert (
        broken(
            "R10", said(f"It is {me['email']}, {me['phone']}, order {PENDING}."), speaker=me["name"]
        )
        == []
    )


def test_a_denial_about_an_order_follows_a_look_up_in_an_earlier_turn() -> None:
    look = called("get_order", order_id=PENDING)
    late, unknown = (
        called("deny", request=1, rule_id=rule, message="No.") for rule in ("R4", "R1")
    )
    assert broken("look_up", look, late) == []
    assert broken("look_up", late, look) == [0]
    assert broken("look_up", together(look, late)) == [0]
    assert broken("look_up", unknown) == []


def test_a_rule_without_an_automaton_counts_as_broken() -> None:
    assert "R99" not in PROCESS
    assert broken("R99") == [0]


def test_a_breach_fails_an_episode_whose_state_holds_and_names_rule_and_turn() -> None:
    exchanges = (called("get_order", order_id=PENDING),)
    verdict = evaluate(Check(process=PROCESS), BASE, {}, exchanges)
    assert not verdict.passed
    assert [(part.name, part.passed) for part in verdict.parts] == [
        ("state", True), ("told", True), ("refusals", True), ("process", False),
        ("truth", True),
    ]  # fmt: skip
    assert verdict.parts[-2].evidence == (
        f"R1 in turn 0: get_order for {OWNER} with 0 of 2 factors verified",
    )
    assert evaluate(Check(process=PROCESS), BASE, {}, exchanges, outcome_only=True).passed


def test_every_made_task_asks_for_every_automaton() -> None:
    assert {
        task.check.process for task in WORLD.make_tasks({}, 3, 20) if task.check is not None
    } == {PROCESS}


def test_in_a_world_of_outcomes_only_a_breach_is_reported_and_does_not_decide() -> None:
    async def play(task: Task) -> tuple[bool, bool]:
        episode = await expert_episode(task)
        strict, loose = WORLD.open({}), WORLD.open({"outcome_only": True})
        verdicts = []
        for env in (strict, loose):
            await env.reset(task)
            for turn in (call("list_orders", customer_id=OWNER), *episode.turns):
                await env.step(turn)
            verdict = await env.check()
            assert not verdict.parts[-2].passed
            verdicts.append(verdict.passed)
            await env.close()
        return verdicts[0], verdicts[1]

    task = next(
        t for t in WORLD.make_tasks({"world_seed": 5}, 3, 40) if t.difficulty["operations"] == 1
    )
    assert at_once(play(task)) == (False, True)


def test_a_transcript_of_another_maker_breaks_no_automaton() -> None:
    strange = [
        called("issue_refund", order_id=DELIVERED, amount="much"),
        called("create_return", order_id=DELIVERED, lines=3),
        called("verify_identity", {"customer_id": OWNER, "verified": 2}),
        called("deny"),
        called("ask_customer", heard="Yes."),
        called("tell_customer", total="much"),
        called("confirm_with_customer", {"event": "x"}),
        said("", "Hello?"),
    ]
    assert [
        part.name
        for part in evaluate(Check(process=PROCESS), BASE, {}, strange).parts
        if not part.passed
    ] == ["process"]
