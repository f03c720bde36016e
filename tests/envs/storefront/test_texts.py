"""The texts in `data/`: every template has the placeholders that are filled in, and no other."""

from collections.abc import Iterator
from importlib.resources import files
from string import Formatter
from typing import Any

import pytest

from synth.envs.storefront.customer.customer import detail_words
from synth.envs.storefront.tasks.intents import end_of
from synth.envs.storefront.tasks.pair_templates import Templates
from synth.envs.storefront.tasks.requests import MAKERS
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.policy_text import rule_texts, system_prompt, topic_text
from synth.envs.storefront.tools.schemas import TOOLS, WRITES
from synth.envs.storefront.world.orders import TRACKING_STATUSES
from synth.envs.storefront.world.rules import RULE_IDS
from tests.envs.storefront.transcripts import BASE

KNOWN: dict[str, set[str] | None] = {
    "catalogue": set(),
    "dials": set(),
    "expert": {"field", "number", "question", "item", "why", "rule"},
    "facts": set(),
    "injections": set(),
    "kinds": set(),
    "lines": {""},
    "marks": None,
    "pairs": set(),
    "people": set(),
    "requests": set(),
    "rules": set(),
    "tools": set(),
    "policy": {"windows", "sale", "limit", "money", "days", "today", "policy"},
    "wordings": {
        *("order", "item", "where", "wanted", "order_id", "giver", "ticket_id", "text"),
        *("colour", "least", "last4", "number"),
    },
}
"""File -> placeholders; None where braces are those of patterns. Placeholders of instructions are the
arguments of their tools."""


GROWN = {"reason_code", "ticket_id", "text", "created", "order_id", "amount_cents", "to"}
"""Columns of tables that a world may begin without a row of."""


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("name", [name for name in KNOWN if KNOWN[name] is not None])
def test_every_placeholder_of_a_template_is_known(name: str) -> None:
    content = texts(name)
    content = (
        {k: v for k, v in content.items() if k != "instructions"} if name == "expert" else content
    )
    assert set().union(*map(placeholders, strings(content))) == KNOWN[name]


def test_every_file_of_texts_is_looked_at() -> None:
    shipped = (files("synth.envs.storefront") / "data").iterdir()
    assert {entry.name.removesuffix(".yaml") for entry in shipped} == set(KNOWN)


def test_an_instruction_names_arguments_of_its_tool() -> None:
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
    for tool, words in texts("expert")["instructions"].items():
        assert placeholders(words) <= schemas[tool]["properties"].keys()
        assert not placeholders(words) & set(schemas[tool]["properties"]) - set(
            schemas[tool]["required"]
        )


def test_every_kind_of_request_is_worded_in_both_variants_with_the_same_placeholders() -> None:
    for kind, variants in texts("wordings")["requests"].items():
        found = {
            variant: {frozenset(placeholders(words)) for words in wordings}
            for variant, wordings in variants.items()
        }
        assert found.keys() == {"train", "held_out"}
        assert len(set.union(*found.values())) == 1, kind


def test_the_choices_of_tools_are_those_of_the_world() -> None:
    tools = texts("tools")
    asked = tools["talk"]["tell_customer"]["properties"]
    assert asked["parcel_status"]["enum"] == [*TRACKING_STATUSES, "delivered"]
    assert asked["order_status"] == tools["read"]["list_orders"]["properties"]["status"]
    assert tools["talk"]["deny"]["properties"]["rule_id"]["enum"] == list(RULE_IDS)
    assert tools["read"]["get_policy"]["properties"]["topic"]["enum"] == [
        *texts("policy")["topics"]
    ]
    write = tools["talk"]["confirm_with_customer"]["properties"]["write"]["enum"]
    assert write == tools["money_writes"]
    assert set(write) <= set(tools["write"])


def test_every_rule_is_worded_in_every_style_and_stands_under_one_topic() -> None:
    policy = texts("policy")
    for style in ("plain", "terse", "why"):
        assert set(policy[style]) == set(RULE_IDS)
    topics = [rule for rules in policy["topics"].values() for rule in rules]
    assert sorted(topics) == sorted(RULE_IDS)
    for style in ("plain", "terse", "verbose"):
        assert set(rule_texts(BASE.rules, style)) == set(RULE_IDS)
        assert "{" not in system_prompt(BASE.rules, BASE.today, style)
        assert all("{" not in topic_text(BASE.rules, topic, style) for topic in policy["topics"])


def test_what_a_request_requires_is_required_of_columns_that_the_world_has() -> None:
    names = ("order", "line", "sku", "address", "code", "owner", "reason", "method", "ticket")
    values = {**dict.fromkeys(names, "x"), "text": "x", "to": "x", "status": "x", "arrives": "x"}
    told = {"total": 1, "cents": 1}
    rows = {table: next(iter(found.values()), {}) for table, found in BASE.tables.items()}
    for kind in texts("requests"):
        end = end_of(kind, **values, **told)
        for row in end.required:
            assert set(row.where) <= {"id", "return_method", *GROWN, *rows[row.table]}, kind
        for path in end.free:
            table, _, column = path.split("/")
            assert column in {*GROWN, *rows[table]}, kind


def test_a_pair_names_a_request_and_a_column_of_an_order() -> None:
    pairs = texts("pairs")
    order = next(iter(BASE.orders.values()))
    found = [
        row for part in ("columns", "refused") for rows in pairs[part].values() for row in rows
    ]
    for row in found:
        assert row["asks"] in MAKERS
        assert row["column"] in order
    assert set(pairs["columns"]) <= set(pairs["templates"])
    assert all(hasattr(Templates, name) for name in set(pairs["templates"]) - set(pairs["columns"]))
    for refused in pairs["refused"]:
        rule, tool = refused.split()
        assert rule in RULE_IDS
        assert tool in WRITES


def test_every_write_serves_a_kind_of_request() -> None:
    kinds = texts("kinds").values()
    done_by = {tool for row in kinds for tools in row.get("done_by", ()) for tool in tools}
    assert done_by | {row["receipt"] for row in kinds} == WRITES
    assert len({row["receipt"] for row in kinds}) == len(kinds)
    agreed = {tool for row in kinds for tool in row.get("agrees", ())}
    assert agreed == set(texts("tools")["money_writes"])


def test_every_detail_renders_with_its_value() -> None:
    for field, words in texts("lines")["details"].items():
        values = words if isinstance(words, dict) else ["blue"]
        said = [detail_words(field, value) for value in values]
        assert len(set(said)) == len(said)
        assert all(line and "{" not in line for line in said)
