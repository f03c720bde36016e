"""Numbers, days and times of a text in one form, whether they are written in digits or in words."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
_MONTHS = "january february march april may june july august september october november december"
SMALL = {word: value for value, word in enumerate(_UNITS.split())} | {"oh": 0, "nought": 0}
TENS = {word: 20 + 10 * place for place, word in enumerate(_TENS.split())}
SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}
ORDINALS = {word: value for value, word in enumerate(_ORDINALS.split())} | {"thirtieth": 30}
MONTHS = {word: place for place, word in enumerate(_MONTHS.split(), start=1)}
MONTHS |= {word[:3]: place for word, place in MONTHS.items() if word != "may"}
# with a capital, since "may" and "march" are verbs too
_MONTH = re.compile(rf"\b({'|'.join(name.capitalize() for name in MONTHS)})\b")
_TOKEN = re.compile(r"'[0-9]{2}\b|[0-9][0-9,]*(?:\.[0-9]+)?(?:st|nd|rd|th)?|[^\W\d_]+")
_ISO = re.compile(r"\b(?:19|20)[0-9]{2}-([0-9]{2})-([0-9]{2})\b")
_CLOCK = re.compile(r"\b([0-9]{1,2}):([0-9]{2})\b")
_WORDED_CLOCK = re.compile(r"\b(\w+) (past|to) (\w+)\b")
_RUN = re.compile(r"[0-9]{3,}")
_COMMA = re.compile(r"(?<=[0-9]),(?=[0-9]{3}\b)")
LEAST = 10
"""Whole numbers below it stand everywhere: they count only with the word behind them."""


@lru_cache(maxsize=4096)
def atoms(text: str) -> frozenset[str]:
    """Everything that a text says in numbers: `n:` a number, `d:` its digits, `m:` a month, `o:` a
    day or place in an order, `t:` a time of day, `3 bag` a small number of something.
    """
    plain = _COMMA.sub("", text.casefold().replace("’", "'"))
    rest = _CLOCK.sub(" ", _ISO.sub(" ", plain))
    tokens = _TOKEN.findall(rest.replace("-", " "))
    found = {f"d:{run}" for run in _RUN.findall(plain)}
    found.update(_days(plain, text))
    found.update(_ordinals(tokens))

    for number, behind in _numbers(tokens):
        found |= _of_number(number, behind)

    return frozenset(found)


def _of_number(number: str, behind: str) -> set[str]:
    """The atoms of one number and the word that stands behind it."""
    value = float(number)
    digits = number.replace(".", "")
    found = set[str]()
    if value >= LEAST or not value.is_integer():
        found.add(f"n:{value:g}")
    elif behind and value > 1:
        found.add(f"{value:g} {behind[:4]}")

    return found | ({f"d:{digits}"} if len(digits) > 2 else set())


def _days(plain: str, text: str) -> Iterator[str]:
    """Dates, months and times of day, of twelve hours."""
    for month, day in _ISO.findall(plain):
        yield f"m:{int(month)}"
        yield f"o:{int(day)}"

    for name in _MONTH.findall(text):
        yield f"m:{MONTHS[name.casefold()]}"

    for hour, minute in _CLOCK.findall(plain):
        yield f"t:{int(hour) % 12}:{int(minute)}"

    for minute, way, hour in _WORDED_CLOCK.findall(plain):
        parts = {"quarter": 15, "half": 30, **SMALL, **TENS}
        if minute in parts and hour in SMALL:
            past = way == "past"
            shown = parts[minute] if past else 60 - parts[minute]
            yield f"t:{(SMALL[hour] - (not past)) % 12}:{shown}"


def _ordinals(tokens: Sequence[str]) -> Iterator[str]:
    """Places in an order from the third on: the ninth, 9th, twenty-first, 14 March, March 14."""
    for before, token, behind in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        bare = re.fullmatch(r"([0-9]{1,2})(?:st|nd|rd|th)?", token)
        value = ORDINALS.get(token, 0)
        if bare and (not token.isdigit() or before in MONTHS or behind in MONTHS):
            value = int(bare[1])
        if before in TENS and 0 < value < 10:
            value += TENS[before]
        if value > 2:
            yield f"o:{value}"
        if behind == "month" and value:
            yield f"m:{value}"


def _numbers(tokens: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each number with the word behind it: written in digits, or a run of words in every reading.

    "four hundred and two", "two-twelve" (212, 2.12), "nine one seven three", "three dozen and one",
    "five dollars and ten cents".
    """
    at = 0
    while at < len(tokens):
        end = at + 1
        if tokens[at][0] in "0123456789":
            value = tokens[at].rstrip("stndrh").replace(",", "")
            end, value = _scaled(tokens, end, value)
            yield value, _behind(tokens, end)
        elif tokens[at].startswith("'"):
            yield f"19{tokens[at][1:]}", ""
        else:
            end = _run_end(tokens, at)
            for value in _readings(tokens[at:end]):
                yield value, _behind(tokens, end)
        at = max(end, at + 1)


def _scaled(tokens: Sequence[str], end: int, value: str) -> tuple[int, str]:
    """5 thousand -> 5000."""
    if end < len(tokens) and tokens[end] in SCALES:
        return end + 1, f"{float(value) * SCALES[tokens[end]]:g}"
    return end, value


def _behind(tokens: Sequence[str], end: int) -> str:
    return tokens[end] if end < len(tokens) else ""


_NUMBER = SMALL.keys() | TENS.keys() | SCALES.keys() | {"dozen"}
_UNIT = frozenset({"dollars", "dollar", "euros", "euro", "pounds", "point"})


def _run_end(tokens: Sequence[str], at: int) -> int:
    """Where a run of number words ends that begins here; `at` where none does."""
    end = at
    if tokens[at] == "a" and _behind(tokens, at + 1) in SCALES.keys() | {"dozen"}:
        end += 1

    while end < len(tokens):
        joined = tokens[end] in ("and", "a", "half") or tokens[end] in _UNIT
        ahead = tokens[end + 1 : end + 4]
        goes_on = joined and end > at and any(word in _NUMBER or word == "half" for word in ahead)
        closes = tokens[end] == "half" and end > at
        if tokens[end] not in _NUMBER and not goes_on and not closes:
            break
        end += 1

    return end


def _readings(words: Sequence[str]) -> Iterator[str]:
    """Every value that a run of number words may have."""
    if not words:
        return

    whole, cents, half = list[str](), list[str](), "half" in words
    into = whole
    for word in words:
        if word in _UNIT and into is whole:
            into = cents
        elif word in _NUMBER:
            into.append(word)

    value = _composed(whole)
    if half:
        scale = SCALES.get(whole[-1], 1) if whole else 1
        yield f"{value + scale / 2:g}"
    elif cents:
        yield f"{value + _composed(cents) / 100:.2f}"
    elif len(_chunks(whole)) < 2:
        yield f"{value:g}"

    chunks = _chunks(whole)
    if len(chunks) > 1:
        yield "".join(chunks)
    if len(chunks) == 2 and len(chunks[1]) == 2:
        yield ".".join(chunks)
    if any(word in SCALES for word in whole) and len(cents) == 0:
        yield from _trailing_cents(whole)


def _trailing_cents(words: Sequence[str]) -> Iterator[str]:
    """One hundred sixty-four fifty: 164.50."""
    for cut in range(len(words) - 2, len(words)):
        if cut > 0 and words[cut] in TENS and words[cut - 1] in SMALL:
            yield f"{_composed(words[:cut]) + _composed(words[cut:]) / 100:.2f}"


def _composed(words: Sequence[str]) -> float:
    """Four hundred two thousand and six; three dozen and one."""
    total = current = 0
    for word in words:
        if word == "dozen":
            current = max(current, 1) * 12
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word in SCALES:
            total, current = total + max(current, 1) * SCALES[word], 0
        else:
            current += SMALL.get(word, 0) + TENS.get(word, 0)

    return total + current


def _chunks(words: Sequence[str]) -> list[str]:
    """What is said one after another: forty-four seventy-one -> 44, 71; none where it is scaled."""
    if any(word in SCALES or word == "dozen" for word in words):
        return []

    chunks, open_tens = list[str](), False
    for word in words:
        value = SMALL.get(word, TENS.get(word, 0))
        if open_tens and word in SMALL and 0 < value < 10:
            chunks[-1] = str(int(chunks[-1]) + value)
            open_tens = False
        else:
            chunks.append(str(value))
            open_tens = word in TENS

    return chunks
