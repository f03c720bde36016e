"""The rules of signals as published, written down plainly: every phrase against every message,
every expression against every answer.
"""

import re
import string
from collections import Counter
from functools import cache
from math import sqrt

from synth.filters.signals.patterns import ANSWERS, LISTS, PHRASES, STOP_WORDS
from synth.schemas.canonical import canonical_json
from synth.schemas.trajectory import Source, Trajectory

Row = tuple[int, str, str, str]
Found = tuple[str, int, float]


def plain_signals(trajectory: Trajectory) -> tuple[list[Found], float]:
    """(kind, row, confidence) in order of the alphabet, and the score."""
    rows = plain_rows(trajectory)[-100:]
    if not rows:
        return [], 50.0
    found = [*misalignment(rows), *stagnation(rows), *feelings(rows), *answers(rows), *loops(rows)]
    return sorted(found), score(rows, found)


def plain_rows(trajectory: Trajectory) -> list[Row]:
    rows: list[tuple[str, str, str]] = []

    def hear(observations: object) -> None:
        for one in observations:  # type: ignore[attr-defined]
            if one.source is Source.TOOL:
                rows.append(("answer", "", one.content))
            elif not (one.source is Source.ENVIRONMENT and one.name == "system"):
                rows.append(("human", "", one.content))

    hear(trajectory.opening)
    for turn in trajectory.turns:
        if turn.content:
            rows.append(("agent", "", turn.content))
        for call in turn.tool_calls:
            rows.append(
                (
                    "call",
                    call.name,
                    call.arguments if call.parse_error else canonical_json(call.parsed()).decode(),
                )
            )
        hear(turn.observations)
    return [(at, *row) for at, row in enumerate(rows)]


def spelled(text: str) -> str:
    for ours, theirs in (
        ("\u2019", "'"),
        ("\u2018", "'"),
        ("\u201c", '"'),
        ("\u201d", '"'),
        ("\u2013", "-"),
        ("\u2014", "-"),
    ):
        text = text.replace(ours, theirs)
    return text.lower()


def cut(text: str) -> str:
    return text if len(text) <= 2000 else text[:400] + " " + text[-1599:]


@cache
def tokens(text: str) -> list[str]:
    stripped = [word.strip(string.punctuation) for word in spelled(text).split()]
    return [word for word in stripped if word]


@cache
def grams(text: str) -> set[str]:
    return {text[at : at + 3] for at in range(len(text) - 2)}


def matches(phrase: str, said: list[str]) -> bool:
    wanted = tokens(phrase)
    if any(said[at : at + len(wanted)] == wanted for at in range(len(said) - len(wanted) + 1)):
        return True
    bare = " ".join(
        "".join(c for c in spelled(phrase) if c.isalnum() or c == "_" or c.isspace()).split()
    )
    mine, theirs = grams(" ".join(said)), grams(bare)
    if mine and theirs and len(mine & theirs) / len(mine | theirs) >= 0.65:
        return True
    one, other = Counter(said), Counter(bare.split())
    norm = sqrt(sum(n * n for n in one.values())) * sqrt(sum(n * n for n in other.values()))
    return bool(one) and sum(one[word] * other[word] for word in other) / norm >= 0.6


def any_of(phrases: tuple[str, ...], said: list[str]) -> bool:
    return any(matches(phrase, said) for phrase in phrases)


def opens(text: str, words: tuple[str, ...]) -> bool:
    return any(text.lower().lstrip().startswith(word) for word in words)


def misalignment(rows: list[Row]) -> list[Found]:
    found: list[Found] = []
    previous: tuple[int, list[str]] | None = None
    for at, role, _, text in rows:
        if role != "human" or not text:
            continue
        said = tokens(cut(text))
        if any_of(PHRASES["correction"], said):
            found.append(("misalignment.correction", at, 1.0))
        elif any_of(PHRASES["rephrase"], said):
            found.append(("misalignment.rephrase", at, 1.0))
        elif any_of(PHRASES["clarification"], said):
            found.append(("misalignment.clarification", at, 1.0))
        elif (
            previous is not None
            and at - previous[0] <= 3
            and says_again(cut(text), said, previous[1])
        ):
            found.append(("misalignment.rephrase", at, 0.8))
        previous = (at, said)
    return found


def says_again(text: str, said: list[str], before: list[str]) -> bool:
    if len(said) < 3 or len(before) < 3 or opens(text, LISTS.confirming_openings):
        return False
    one = {word for word in said if word not in STOP_WORDS}
    other = {word for word in before if word not in STOP_WORDS}
    if len(one) < 4 or len(other) < 4:
        return False
    return (
        len(one - other) / len(one) <= 0.5 and len(one & other) / min(len(one), len(other)) >= 0.75
    )


def stagnation(rows: list[Row]) -> list[Found]:
    found: list[Found] = []
    turns = sum(role == "human" for _, role, _, _ in rows)
    efficiency = 1.0 if turns <= 5 else 1 / (1 + 0.25 * (turns - 5))
    if efficiency < 0.5:
        found.append(("stagnation.dragging", rows[-1][0], 1 - efficiency))
    before: dict[str, list[list[str]]] = {"human": [], "agent": []}
    for at, role, _, text in rows:
        if role not in before or not text:
            continue
        said = tokens(cut(text))
        if len(said) >= 5 and not (role == "human" and opens(cut(text), LISTS.positive_openings)):
            for other in before[role][-2:]:
                if len(other) >= 5:
                    one, two = grams(" ".join(said)), grams(" ".join(other))
                    alike = len(one & two) / len(one | two)
                    if alike >= 0.85:
                        found.append(("stagnation.repetition", at, alike))
                        break
        before[role].append(said)
    return found


def feelings(rows: list[Row]) -> list[Found]:
    found: list[Found] = []
    for at, role, _, text in rows:
        if role != "human" or not text:
            continue
        text = cut(text)
        said = tokens(text)
        letters = [c for c in text if c.isalpha()]
        if len(letters) >= 10 and sum(c.isupper() for c in letters) / len(letters) >= 0.8:
            found.append(("disengagement.negative", at, 1.0))
        loud = "??" in text or "!!" in text or re.search("[?!]{3}", text)
        if loud and not opens(text, LISTS.positive_openings):
            found.append(("disengagement.negative", at, 1.0))
        escalation = any_of(PHRASES["escalation"], said)
        profanity = any_of(PHRASES["profanity"], said)
        found += [("disengagement.escalation", at, 1.0)] * escalation
        found += [("disengagement.quit", at, 1.0)] * any_of(PHRASES["quit"], said)
        found += [("disengagement.negative", at, 1.0)] * (
            profanity or (not escalation and any_of(PHRASES["complaint"], said))
        )
        for kind, phrases in (
            ("gratitude", PHRASES["gratitude"]),
            ("confirmation", PHRASES["confirmation"]),
            ("success", PHRASES["success"]),
        ):
            if any_of(phrases, said):
                found.append((f"satisfaction.{kind}", at, 1.0))
                break
    return found


def answers(rows: list[Row]) -> list[Found]:
    found: list[Found] = []
    for at, role, _, text in rows:
        for category, kinds in ANSWERS.items() if role == "answer" else ():
            for kind, given in kinds.items():
                if any(
                    re.search(pattern, text, re.IGNORECASE | re.ASCII) for pattern in given.patterns
                ):
                    weak = kind == "bad_query" and not any(
                        word in text.lower() for word in ("error", "invalid", "failed")
                    )
                    found.append((f"{category}.{kind}", at, 0.6 if weak else given.confidence))
                    break
    return found


def loops(rows: list[Row]) -> list[Found]:
    calls = [(at, name, arguments) for at, role, name, arguments in rows if role == "call"]
    found: list[Found] = []
    retried: list[range] = []
    i = 0
    while i < len(calls):
        j = i
        while j < len(calls) and calls[j][1:] == calls[i][1:]:
            j += 1
        if j - i >= 3:
            found.append(("loops.retry", calls[i][0], 0.95))
            retried.append(range(calls[i][0], calls[j - 1][0] + 1))
        i = j
    i = 0
    while i < len(calls):
        j = i
        while j < len(calls) and calls[j][1] == calls[i][1]:
            j += 1
        span = range(calls[i][0], calls[j - 1][0] + 1)
        if (
            j - i >= 3
            and len({call[2] for call in calls[i:j]}) >= 2
            and not any(set(span) & set(other) for other in retried)
        ):
            found.append(("loops.parameter_drift", calls[i][0], 0.85))
        i = j
    return found + oscillation(calls)


def oscillation(calls: list[tuple[int, str, str]]) -> list[Found]:
    names = [name for _, name, _ in calls]
    spans: list[tuple[int, int]] = []
    i = 0
    while i + 6 <= len(names):
        for length in range(2, min(5, len(names) - i) + 1):
            pattern = names[i : i + length]
            cycles = 0
            while names[i + cycles * length : i + (cycles + 1) * length] == pattern:
                cycles += 1
            if len(set(pattern)) >= 2 and cycles >= 3:
                spans.append((i, i + cycles * length - 1))
                i = i + cycles * length - length
                break
        else:
            i += 1
    found: list[Found] = []
    last = -1
    for start, end in sorted(spans, key=lambda span: (span[0], span[0] - span[1])):
        if start > last:
            found.append(("loops.oscillation", calls[start][0], 0.9))
            last = end
    return found


def score(rows: list[Row], found: list[Found]) -> float:
    count = Counter(kind.split(".")[0] for kind, _, _ in found)
    kinds = {kind for kind, _, _ in found}

    def severity(category: str) -> int:
        n = count[category]
        return 0 if n == 0 else 1 if n <= 2 else 2 if n <= 4 else 3

    if "disengagement.escalation" in kinds or "disengagement.quit" in kinds:
        return 0.0
    if severity("disengagement") == 3 or severity("stagnation") == 3:
        return 0.0
    value = 50.0
    if count["satisfaction"]:
        value += 20 * {1: 0.6, 2: 0.8}.get(count["satisfaction"], 0.95)
    value -= 10 * severity("disengagement")
    humans = sum(role == "human" for _, role, _, _ in rows)
    if humans and count["misalignment"] / humans > 0.3:
        value -= 15
    if count["stagnation"] > 2:
        value -= 8 * severity("stagnation")
    value -= 8 * count["failure"] + 5 * count["loops"] + 3 * count["exhaustion"]
    return max(0.0, min(100.0, value))
