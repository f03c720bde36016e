"""The written policy, with a world's own values; half of it is enforced by tools, half only stands
here.
"""

from collections.abc import Mapping
from typing import Any

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.rules import RULE_IDS, TIERS, Rules

_POLICY: Mapping[str, Any] = texts("policy")
TOPICS: tuple[str, ...] = tuple(_POLICY["topics"])


def rule_texts(rules: Rules, style: str = "plain") -> dict[str, str]:
    """Every rule in force in words, by its id; `terse` says the same in other and fewer words,
    `verbose` adds why.
    """
    values = {
        "windows": ", ".join(f"{tier} {rules.window_days[tier]} days" for tier in TIERS),
        "sale": ", ".join(rules.final_sale),
        "limit": rules.refund_limit_cents // 100,
        "money": rules.compensation_cents // 100,
        "days": rules.late_days,
    }

    texts_of = _POLICY["terse" if style == "terse" else "plain"]
    why = _POLICY["why"] if style == "verbose" else {}

    return {
        rule: " ".join(filter(None, (texts_of[rule].format(**values), why.get(rule))))
        for rule in RULE_IDS
        if rule in rules.in_force
    }


def topic_text(
    rules: Rules,
    topic: str,
    style: str = "plain",
) -> str:
    """The rules of one topic, one per line."""
    worded = rule_texts(rules, style)

    return (
        "\n".join(f"{rule}: {worded[rule]}" for rule in _POLICY["topics"][topic] if rule in worded)
        or "There is no rule about this."
    )


def system_prompt(rules: Rules, style: str = "plain") -> str:
    """What the agent is told before the customer speaks."""
    policy = "\n".join(f"{rule}: {text}" for rule, text in rule_texts(rules, style).items())

    return str(_POLICY["system"].format(today=rules.today, policy=policy))
