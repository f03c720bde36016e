"""Text that a tokenizer reads as structure: found, or changed so that it is read as text.

A tokenizer splits its added tokens off any text it is given, wherever they stand
(`split_special_tokens=False`), by the exact string. So the exact string counts, and near-variants
(another case, spaces or zero-width characters within, HTML's escapes) are text. JSON's escapes are
undone before a template renders parsed arguments, so in JSON what a string means counts, not how it
is spelled.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Any

import msgspec

from synth.text.transcript.message_texts import ARGUMENTS, Change

TABLE = "control_tokens.tsv"
JOINT = "joint"
"""The place of a token whose ends stand in two texts that follow each other."""
NUMBERED = (
    r"<\|(?:text_post_train_)?reserved_special_token_\d+\|>",
    r"<(?:extra_id|SPECIAL|reserved|TOKENS_UNUSED|unused|mask:)_?\d+>",
    r"\[(?:UNUSED_TOKEN|extra_id|control|unused)_?\d+\]",
)
"""Tokens with a number, of which a vocabulary has hundreds."""
SHAPES = (r"</?\|[A-Za-z0-9_▁/.:+-]{1,64}\|>", r"</?｜[A-Za-z0-9_▁/.:+-]{1,64}｜>")
"""What a token of any family looks like: a word between bars in angle brackets, ASCII or
full-width.
"""
Hit = tuple[str, str]
"""A token as it is counted, and the place that it stands in."""

_VISIBLE = str.maketrans({"<": "‹", ">": "›", "[": "⟦", "]": "⟧"})
"""Brackets that no token of the table has, and that people read as the same."""
_LONGEST = 80
"""No token has more letters."""
_BREAK = "·"
"""Put behind the first letter of a token without brackets."""
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_NUMBERED = re.compile("|".join(NUMBERED))
_LIKE = re.compile("|".join([*NUMBERED, *SHAPES]))
_LONE = re.compile("[\ud800-\udfff]")


@cache
def families() -> Mapping[str, tuple[str, ...]]:
    """Family -> its tokens, as tokenizers and chat templates publish them.

    They begin and end texts, turns, roles, calls, answers and thoughts; what several families share
    stands with the first. Placeholders of code models (`<filename>`) and pictures that are HTML's
    own words (`<video>`) structure no chat and are common in texts: only a student's own list has
    them.
    """
    found: dict[str, tuple[str, ...]] = {}

    for line in files("synth.text").joinpath(TABLE).read_text(encoding="utf-8").splitlines()[1:]:
        name, token = line.split("\t")
        found[name] = (*found.get(name, ()), token)

    return found


class KeyCollisionError(ValueError):
    """Two keys of a JSON object that would be the same once they are neutralised."""


class ControlTokens:
    """The table's tokens and shapes, with `own` tokens of a student."""

    def __init__(self, own: Iterable[str] = ()) -> None:
        self._known = {token for tokens in families().values() for token in tokens} | {
            token
            for token in own
            if 1 < len(token) <= _LONGEST and _BREAK not in token and not token.isspace()
        }
        alone = sorted(
            (token for token in self._known if not self.is_shape(token)),
            key=lambda token: (-len(token), token),
        )
        self._pattern = re.compile("|".join([*map(re.escape, alone), *NUMBERED, *SHAPES]))

    def name(self, token: str) -> str:
        """What a token is counted as.

        That is itself where it is known, else, of those with a number, all of them, or its shape.
        """
        if token in self._known:
            return token

        if _NUMBERED.fullmatch(token):
            return re.sub(r"\d+", "N", token)

        return "<｜...｜>" if "｜" in token else "<|...|>"

    def is_shape(self, token: str) -> bool:
        """Whether a token of any family could look like that."""
        return _LIKE.fullmatch(token) is not None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where tokens stand in a text as it is, in order."""
        return (match.span() for match in self._pattern.finditer(text))

    def in_text(self, text: str) -> list[str]:
        """The tokens of a text, in order."""
        return self._pattern.findall(text)

    def in_json(self, text: str) -> list[str]:
        """The tokens of a JSON text as it is, then those that escapes hide in its strings."""
        found = self.in_text(text)
        for string in _STRING.findall(text) if "\\" in text else ():
            found += self.in_text(_meaning(string)) if "\\" in string else []

        return found

    def neutralised(self, text: str) -> str:
        """The text with each token's brackets replaced by others that people read alike.

        Only letters of tokens are replaced, by letters of none, so no new token comes about and
        doing it again changes nothing. It is the same text where it holds no token.
        """
        while (changed := self._pattern.sub(_neutral, text)) != text:
            text = changed

        return text

    def neutralised_json(self, text: str) -> str:
        """The same for JSON text: its numbers, spaces and order stay as they are spelled.

        Raises `KeyCollisionError` where an object would hold one key twice.
        """
        if not self.in_json(text):
            return text

        changed = self.neutralised(_STRING.sub(self._neutral_string, text))
        before, after = _key_counts(text), _key_counts(changed)
        if before is not None and after is not None and before != after:
            raise KeyCollisionError("two keys are the same once they are neutralised")

        return changed

    def _neutral_string(self, match: "re.Match[str]") -> str:
        """A string literal of JSON without tokens; as it stands where it holds none."""
        said = _meaning(match[0])
        neutral = self.neutralised(said)
        if neutral == said:
            return match[0]

        return json.dumps(neutral, ensure_ascii=_LONE.search(neutral) is not None)

    def neutralised_value(self, value: Any) -> Any:
        """The same for a JSON value: its keys and all strings in it. Raises `KeyCollisionError`."""
        if isinstance(value, str):
            return self.neutralised(value)

        if isinstance(value, dict):
            changed = {self.neutralised(key): self.neutralised_value(value[key]) for key in value}
            if len(changed) < len(value):
                raise KeyCollisionError("two keys are the same once they are neutralised")

            return changed

        if isinstance(value, list | tuple):
            return type(value)(map(self.neutralised_value, value))

        return value


@cache
def control_tokens(own: frozenset[str] = frozenset()) -> ControlTokens:
    """The table, with a student's own tokens; made once."""
    return ControlTokens(own)


def found(visit: Callable[[Change], object], tokens: ControlTokens) -> list[Hit]:
    """The tokens of all texts that are visited, in their order.

    Last come those of the joints, where one text follows the other: templates strip texts, and
    write some with nothing between them.
    """
    hits: list[Hit] = []
    texts: list[str] = []

    def look(place: str, value: Any) -> Any:
        is_text = isinstance(value, str)
        text = value if is_text else msgspec.json.encode(value).decode()
        plain = is_text and place != ARGUMENTS
        named = map(tokens.name, tokens.in_text(text) if plain else tokens.in_json(text))
        hits.extend((name, place) for name in named)
        texts.append(text)

        return value

    visit(look)
    joints = [*_over_joints(texts, tokens), *_over_joints([*map(str.strip, texts)], tokens)]

    return hits + [(name, JOINT) for name in dict.fromkeys(joints)]


def _over_joints(texts: Sequence[str], tokens: ControlTokens) -> Iterator[str]:
    """The names of tokens that stand in more than one of the texts, put together.

    Of long texts only the ends are looked at.
    """
    ends = [
        text if len(text) <= 2 * _LONGEST else f"{text[:_LONGEST]}\0{text[-_LONGEST:]}"
        for text in texts
    ]
    whole, edges = "".join(ends), sorted(set(accumulate(map(len, ends))))

    for start, end in tokens.spans(whole):
        at = bisect_right(edges, start)
        if at < len(edges) and edges[at] < end:
            yield tokens.name(whole[start:end])


def neutralising(tokens: ControlTokens) -> Change:
    """What to visit texts with, so that no token is left in any of them."""

    def change(place: str, value: Any) -> Any:
        is_json_text = place == ARGUMENTS and isinstance(value, str)
        return tokens.neutralised_json(value) if is_json_text else tokens.neutralised_value(value)

    return change


def family(token: str) -> str:
    """The first family of the table that has a token, `any` for what only looks like one."""
    return next((name for name, tokens in families().items() if token in tokens), "any")


def _neutral(match: "re.Match[str]") -> str:
    """A token as people read it, with letters that no tokenizer takes for its own."""
    token = match[0]
    changed = token.translate(_VISIBLE)
    return changed if changed != token else token[:1] + _BREAK + token[1:]


def _meaning(literal: str) -> str:
    """What a JSON string means; what is none is taken as it stands."""
    try:
        return str(json.loads(literal, strict=False))
    except ValueError:
        return literal


def _key_counts(text: str) -> list[int] | None:
    """How many different keys each object of a JSON text has, None where it is no JSON."""
    counts: list[int] = []

    try:
        json.loads(text, object_pairs_hook=lambda pairs: counts.append(len(dict(pairs))))
    except (ValueError, RecursionError):
        return None

    return counts
