"""What people write for a verdict, as a success, a failure or neither."""

from contextlib import suppress
from typing import Any

from synth.importers.chats.words import GENERAL, VERDICTS
from synth.importers.records import ImportSettings, Object, inside

_OUTCOMES = {"success": True, "failure": False, "unknown": None}
_WORDS = {
    True: """true yes y pass passed success succeeded successful resolved solved correct ok win won
    good accept accepted positive thumbs_up 1 1.0""",
    False: """false no n fail failed failure unresolved unsolved incorrect wrong not_resolved lost
    unsuccessful bad reject rejected negative thumbs_down 0 0.0""",
    None: "none null unknown na n/a nan error skipped invalid -",
}
_MEANT = {word: verdict for verdict, words in _WORDS.items() for word in words.split()}
_MEANT[""] = None
_OF_ANYTHING = frozenset(
    [
        "true",
        "false",
        "yes",
        "y",
        "no",
        "n",
        "good",
        "bad",
        "positive",
        "negative",
        "1",
        "0",
        "1.0",
        "0.0",
    ]
)
"""Answers to any question, whatever was asked."""


_BROKE = ("report.error_eval", "test_result.report.error_eval", "test_result.error_eval")


def was_not_evaluated(value: Any) -> bool:
    """Whether an evaluation's report says that it broke: what it says of a success is none then."""
    return any(inside(value, path) is True for path in _BROKE)


def is_verdict_word(text: str | None) -> bool:
    """Whether a word says a success or a failure by itself."""
    word = (text or "").strip().lower()
    return _MEANT.get(word) is not None and word not in _OF_ANYTHING


def verdict(value: Any, what: str = "verdict") -> bool | None:
    """A success, a failure, or None for no verdict. Raises `ValueError` for anything else."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        if value in (0, 1):
            return bool(value)
        raise ValueError(f"{what} {value!r} is neither 0 nor 1")
    if isinstance(value, str) and value.strip().lower() in _MEANT:
        return _MEANT[value.strip().lower()]
    raise ValueError(f"{what} {str(value)[:40]!r} says neither success nor failure")


def claimed(
    value: Object, success: Any, reward: float | None, settings: ImportSettings
) -> bool | None:
    """What a record claims: `outcome`, where that is a verdict's word, before `success` before
    further names that are true or false before `reward`, and the column that the user has named
    before all; logs of SWE agents call it a
    target, which elsewhere may be anything.
    """
    outcome = value.get("outcome") if "success" not in settings.columns else None
    word = outcome.strip().lower() if isinstance(outcome, str) else ""
    if word in _OUTCOMES or is_verdict_word(word):
        return _OUTCOMES[word] if word in _OUTCOMES else _MEANT[word]

    if was_not_evaluated(value):
        return None
    if success is None and isinstance(value.get("instance_id"), str):
        with suppress(ValueError):
            success = verdict(value.get("target"))
    if success is None and "success" not in settings.columns:
        # names that answers too may have: only what is true or false is a verdict
        stated = (value.get(name) for name in VERDICTS if name not in GENERAL)
        success = next((one for one in stated if isinstance(one, bool)), None)
    return settings.passed(reward) if success is None else verdict(success, "success")
