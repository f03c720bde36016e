"""What two trajectories are compared by: the words that were spoken, called and answered.

What every transcript shares is left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from synth.schemas import Observation, SampledBy, Trajectory, Turn, canonical_json
from synth.stats.minhash import Hashes

WORDS = 3
"""Words per shingle."""
CHARS = 8
"""Characters per shingle where a script puts no spaces between words."""
_LONGEST_WORD = 20
_APART = b' \t\r\n\v\f{}[]",:()'
_PLAIN = bytes(range(256)).lower().translate(bytes.maketrans(_APART, b" " * len(_APART)))
"""Small letters, with blanks in the place of JSON's punctuation."""
_BASE = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_BASE), -1, 2**64))


def _said(turn: Turn) -> Iterator[str]:
    """What an agent said, thought and called in a turn."""
    yield from filter(None, (turn.content, turn.thought))
    for call in turn.tool_calls:
        yield f"{call.name} {call.arguments}"


def spoken(trajectory: Trajectory, shared: frozenset[bytes] = frozenset()) -> Iterator[str]:
    """What is learnt, message by message, without system prompt and tool schemas: the whole where
    every turn carries loss or none does, else each turn that does with what was answered before it.

    An opening text whose key is `shared` is left out, too.
    """
    if _in_part(trajectory):
        for _, words in turn_keys(trajectory):
            yield from words
        return

    for observation in trajectory.opening:
        if not shared or text_key(observation.content) not in shared:
            yield observation.content

    for turn in trajectory.turns:
        yield from _said(turn)
        for observation in turn.observations:
            yield observation.content


def text_key(text: str) -> bytes:
    """64 bits of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def shared_openings(trajectories: Iterable[Trajectory]) -> frozenset[bytes]:
    """Keys of opening texts that stand word for word before several tasks.

    They are instructions, and no part of either task.
    """
    first: dict[bytes, str] = {}
    keys = ((text_key(said.content), one.task_id) for one in trajectories for said in one.opening)

    return frozenset(key for key, task in keys if first.setdefault(key, task) != task)


def exact_key(trajectory: Trajectory) -> bytes:
    """128 bits of what is learnt, as `spoken` has it; call ids and order of arguments aside."""
    if _in_part(trajectory):
        return _key([key.hex() for key, _ in turn_keys(trajectory)], 16)

    turns = [[*_done(turn), _answers(turn.observations)] for turn in trajectory.turns]
    return _key([_answers(trajectory.opening), turns], 16)


def turn_keys(trajectory: Trajectory) -> Iterator[tuple[bytes, list[str]]]:
    """64 bits of each turn that carries loss, and its words.

    That is what the agent did, and what it had just been answered.
    """
    before: Sequence[Observation] = trajectory.opening

    for turn in trajectory.turns:
        if _learnt(trajectory, turn):
            words = [*(one.content for one in before), *_said(turn)]
            yield _key([_answers(before), _done(turn)], 8), words

        before = turn.observations


def _in_part(trajectory: Trajectory) -> bool:
    """Whether some of its turns carry loss, and not all. Where none does (runs of one mistake that
    was put in) what tells it from others is the whole.
    """
    return len({_learnt(trajectory, turn) for turn in trajectory.turns}) > 1


def _learnt(trajectory: Trajectory, turn: Turn) -> bool:
    """Whether a turn carries loss."""
    own = trajectory.pivot_turn is None or turn.index >= trajectory.pivot_turn
    return (
        own and turn.sampled_by is SampledBy.POLICY and turn.mask is None and turn.injected is None
    )


def _key(content: object, size: int) -> bytes:
    """A hash of a JSON value, `size` bytes long."""
    return blake2b(canonical_json(content), digest_size=size).digest()


def _answers(observations: Iterable[Observation]) -> list[list[str]]:
    """(who said it, text) of each observation."""
    return [[one.source.value, one.content] for one in observations]


def _done(turn: Turn) -> list[Any]:
    """Text, thought, and the calls with their arguments as data, where these are any."""
    calls = []

    for call in turn.tool_calls:
        try:
            calls.append([call.name, msgspec.json.decode(call.arguments)])
        except (msgspec.DecodeError, RecursionError):
            calls.append([call.name, call.arguments])

    return [turn.content, turn.thought, calls]


def shingles(texts: Iterable[str]) -> Hashes:
    """Distinct 64-bit hashes of all runs of three words, sorted; case and JSON's signs aside.

    A polynomial over the bytes modulo 2**64, from prefix sums: hash(i, j) = (H[j] - H[i]) /
    base**i, then mixed.
    """
    text = "\n".join(texts)
    folded = text if text.isascii() else text.casefold()
    plain = b" ".join(folded.encode("utf-8", "replace").translate(_PLAIN).split())
    if not plain:
        return np.empty(0, np.uint64)

    array = np.frombuffer(plain, np.uint8)
    starts, ends = _bounds(array)
    powers, inverses = _powers(len(plain))
    terms = (array.astype(np.uint64) + np.uint64(1)) * powers[: len(plain)]
    sums = np.append(np.zeros(1, np.uint64), np.cumsum(terms))

    return np.unique(_mixed((sums[ends] - sums[starts]) * inverses[starts]))


def _bounds(text: NDArray[np.uint8]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each shingle of a text begins and ends: words, or characters where there are none."""
    spaces = np.flatnonzero(text == 32)

    if len(text) > _LONGEST_WORD * (len(spaces) + 1):
        # first bytes of characters in UTF-8
        edges = np.append(np.flatnonzero((text & 0xC0) != 0x80), len(text))
        width = min(CHARS, len(edges) - 1)
        return edges[: len(edges) - width], edges[width:]

    first, last = np.append(0, spaces + 1), np.append(spaces, len(text))
    width = min(WORDS, len(first))
    return first[: len(first) - width + 1], last[width - 1 :]


_POWERS: list[Hashes] = [np.ones(1, np.uint64), np.ones(1, np.uint64)]


def _powers(length: int) -> list[Hashes]:
    """Powers of the base and of its inverse, so many at least; kept for the next text."""
    if len(_POWERS[0]) < length:
        for at, factor in enumerate((_BASE, _INVERSE)):
            steps = np.full(1 << length.bit_length(), factor, np.uint64)
            steps[0] = 1
            _POWERS[at] = np.cumprod(steps)

    return _POWERS


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)

    return values ^ (values >> np.uint64(31))
