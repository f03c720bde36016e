"""The texts in `data/`: every template has the placeholders that are filled in, and no other."""

from collections.abc import Iterator
from importlib.resources import files
from string import Formatter
from typing import Any

import pytest

from synth.envs.storefront.customer.customer import detail_words
from synth.envs.storefront.customer.script import KINDS, WANTED_FIELD
from synth.envs.storefront.expert.belief import MISCONCEPTIONS
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.schemas import TOOLS, WRITES, rule_texts, system_prompt, topic_text
from synth.envs.storefront.world.orders import TRACKING_STATUSES
from synth.envs.storefront.world.policy import RULE_IDS
from tests.envs.storefront.transcripts import BASE

KNOWN: dict[str, set[str] | None] = {
    "catalogue": set(),
    "claims": None,
    "customers": set(),
    "dials": set(),
    "expert": {"field", "number", "question", "item", "why", "rule"},
    "exploring": {"name", "email"},
    "facts": set(),
    "false_claims": {"order"},
    "injections": set(),
    "kinds": set(),
    "lines": {""},
    "marks": None,
    "orders": set(),
    "pairs": set(),
    "rules": set(),
    "said": None,
    "tools": set(),
    "user_prompt": {"tone"},
    "policy": {"windows", "sale", "limit", "money", "days", "today", "policy", "words"},
    "wishes": None,
    "wordings": {
        *("order", "item", "where", "wanted", "order_id", "giver", "ticket_id", "note"),
        *("least", "last4", "number", "person"),
    },
}
"""File -> placeholders; None where braces are those of patterns. Placeholders of instructions are
the arguments of their tools.
"""


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
    if name == "exploring":
        content = {key: value for key, value in content.items() if key != "instructions"}
    assert set().union(*map(placeholders, strings(content))) == KNOWN[name]


def test_every_file_of_texts_is_looked_at() -> None:
    shipped = (files("synth.envs.storefront") / "data").iterdir()
    assert {entry.name.removesuffix(".yaml") for entry in shipped} == set(KNOWN)


def test_an_instruction_names_arguments_of_its_tool() -> None:
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
    for tool, words in texts("exploring")["instructions"].items():
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
        assert "{" not in system_prompt(BASE.rules, style)
        assert all("{" not in topic_text(BASE.rules, topic, style) for topic in policy["topics"])


def test_a_pair_names_a_kind_of_request_and_a_fact_of_the_world() -> None:
    wordings = texts("wordings")
    for row in texts("pairs"):
        assert row["rule"] in RULE_IDS
        assert row["kind"] in KINDS
        table, key, column = row["path"].split("/")
        assert key in ("$order", "$product", "$address", "$me")
        assert all(column in found for found in BASE.tables[table].values())
        assert {order["status"] for order in BASE.tables["orders"].values()} >= {*row["in"]}
        assert row.get("words", row["rule"]) in wordings["claims"]


def test_every_tool_that_changes_something_serves_one_kind_of_request() -> None:
    kinds = KINDS.values()
    assert {row["tool"] for row in kinds if "writes" in row} == WRITES
    assert len({row["tool"] for row in kinds}) == len(kinds)
    agreed = {tool for row in kinds for tool in row.get("agrees", ())}
    assert agreed == set(texts("tools")["money_writes"])


def test_kinds_of_requests_name_other_kinds_and_what_the_customer_can_be_asked_for() -> None:
    details, wordings = texts("lines")["details"], texts("wordings")
    fields = texts("tools")["talk"]["ask_customer"]["properties"]["field"]["enum"]
    for kind, row in KINDS.items():
        assert {row.get("first", kind), row.get("now", kind)} <= KINDS.keys()
        assert {*row.get("details", ())} <= details.keys()
        assert {*row.get("open", ())} <= {"order", "item", "address", "payment"}
        assert kind in wordings["requests"]
        if "wanted" in row:
            assert row["wanted"] in details.keys() & {*fields}
            assert f"{kind}_missing" in wordings["requests"]
        if "now" in row:
            assert row["now"] in wordings["changes"]
    assert {*WANTED_FIELD} == {kind for kind, row in KINDS.items() if "wanted" in row}


def test_a_misconception_ignores_rules_that_there_are() -> None:
    for name, rules in texts("expert")["ignores"].items():
        assert name in MISCONCEPTIONS
        assert {*rules} <= {*RULE_IDS}


@pytest.mark.parametrize("name", ["wordings", "lines", "policy", "expert", "exploring"])
def test_what_is_said_reads_as_sentences(name: str) -> None:
    """A capital letter or a quote first, an end last, no two blanks, no brace left open."""
    parts = {
        "wordings": ("requests", "changes", "withdrawn"),
        "policy": ("plain", "terse", "why"),
        "expert": ("questions", "goodbye"),
    }
    content = texts(name)
    for sentence in strings([content[part] for part in parts.get(name, content)]):
        assert "  " not in sentence
        if " " in sentence and not sentence.startswith("{"):
            assert sentence.strip()[0].isupper() or sentence.startswith("several"), sentence
            assert sentence.rstrip()[-1] in '.!?}:"', sentence


def test_every_detail_renders_with_its_value() -> None:
    for field, words in texts("lines")["details"].items():
        values = words if isinstance(words, dict) else ["blue"]
        said = [detail_words(field, value) for value in values]
        assert len(set(said)) == len(said)
        assert all(line and "{" not in line for line in said)
