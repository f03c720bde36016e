"""Sentences that hold a fact, taken out of a message or turned into false ones."""

from datetime import date, timedelta

from synth.envs.storefront.customer.told import SAID, windows
from synth.schemas.check import ToldFact

_OTHER_STATUS = {"delayed": "in transit"}


def true_sentences(fact: ToldFact, message: str, *, keep: bool) -> str:
    """The sentences of a message that hold the fact (`keep`), or all others."""
    return " ".join(
        window for window in windows(message) if (fact.value in SAID[fact.type](window)) is keep
    )


def false_sentences(fact: ToldFact, message: str, *, instead: bool) -> str:
    """The message with another value of the type in place of the fact's, or with the false
    sentences after the true ones.
    """
    told = true_sentences(fact, message, keep=True)
    if not told:
        return message
    right, wrong = _spellings(fact)
    for spelling in right:
        if spelling in told:
            if instead:
                return message.replace(spelling, wrong)
            return f"{message} Correction: {told.replace(spelling, wrong)}"
    return message


def _spellings(fact: ToldFact) -> tuple[tuple[str, ...], str]:
    """How the fact's value may be written, and a wrong value."""
    if fact.type == "money" and isinstance(fact.value, int):
        return (
            f"${fact.value / 100:.2f}",
            f"${fact.value / 100:g}",
        ), f"${(fact.value + 100) / 100:.2f}"
    if fact.type == "date":
        return (str(fact.value),), (
            date.fromisoformat(str(fact.value)) + timedelta(days=1)
        ).isoformat()
    if fact.type in ("status", "enum"):
        value = str(fact.value)
        return (value.replace("_", " "), value), _OTHER_STATUS.get(value, "delayed")
    if fact.type == "number" and isinstance(fact.value, int):
        return (str(fact.value),), str(fact.value + 1)
    return (str(fact.value),), "O-1"
