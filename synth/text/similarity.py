"""What two trajectories are compared by: the words that were spoken, called and answered, without
what every transcript shares.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import msgspec
import numpy as np

from synth.schemas.canonical import canonical_json
from synth.schemas.trajectory import Observation, SampledBy, ToolCall, Trajectory, Turn
from synth.stats.minhash import Hashes

WORDS = 3
"""Words per shingle."""
CHARS = 8
"""Characters per shingle where a script puts no spaces between words."""
_LONGEST_WORD = 20
_APART = b' \t\r\n\v\f{}[]",:()'
_PLAIN = bytes(ord(" ") if at in _APART else at + 32 if 65 <= at <= 90 else at for at in range(256))
_BASE = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_BASE), -1, 2**64))


def spoken(trajectory: Trajectory, shared: frozenset[bytes] = frozenset()) -> Iterator[str]:
    """Message by message; system prompt and tool schemas are left out, and so is every text whose
    key is `shared`.
    """
    for observation in trajectory.opening:
        if not shared or text_key(observation.content) not in shared:
            yield observation.content
    for turn in trajectory.turns:
        yield from filter(None, (turn.content, turn.thought))
        for call in turn.tool_calls:
            yield f"{call.name} {call.arguments}"
        for observation in turn.observations:
            yield observation.content


def text_key(text: str) -> bytes:
    """64 bits of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def shared_openings(openings: Iterable[tuple[str, str]]) -> frozenset[bytes]:
    """Keys of opening texts that stand word for word before several tasks, given (task, text):
    instructions, and no part of either.
    """
    first: dict[bytes, str] = {}
    shared = set()
    for task, text in openings:
        key = text_key(text)
        if first.setdefault(key, task) != task:
            shared.add(key)
    return frozenset(shared)


def exact_key(trajectory: Trajectory) -> bytes:
    """128 bits of what was said, called and answered; call ids, names and order of arguments
    aside.
    """
    content = [[_answer(o) for o in trajectory.opening], [_turn(turn) for turn in trajectory.turns]]
    return blake2b(canonical_json(content), digest_size=16).digest()


def turn_keys(trajectory: Trajectory) -> Iterator[tuple[bytes, list[str]]]:
    """64 bits of each turn that carries loss, and its words: what the agent did, and what it had
    just been answered.
    """
    before: Iterable[Observation] = trajectory.opening
    for turn in trajectory.turns:
        own = trajectory.pivot_turn is None or turn.index >= trajectory.pivot_turn
        if (
            own
            and turn.sampled_by is SampledBy.POLICY
            and turn.mask is None
            and turn.injected is None
        ):
            done = [turn.content, turn.thought, [_call(call) for call in turn.tool_calls]]
            calls = [f"{call.name} {call.arguments}" for call in turn.tool_calls]
            words = [
                *(o.content for o in before),
                *filter(None, (turn.content, turn.thought)),
                *calls,
            ]
            yield (
                blake2b(
                    canonical_json([[_answer(o) for o in before], done]), digest_size=8
                ).digest(),
                words,
            )
        before = turn.observations


def _turn(turn: Turn) -> list[object]:
    return [
        turn.content,
        turn.thought,
        [_call(call) for call in turn.tool_calls],
        [_answer(o) for o in turn.observations],
    ]


def _call(call: ToolCall) -> list[object]:
    try:
        return [call.name, msgspec.json.decode(call.arguments)]
    except (msgspec.DecodeError, RecursionError):
        return [call.name, call.arguments]


def _answer(observation: Observation) -> list[str]:
    return [observation.source.value, observation.content]


def shingles(texts: Iterable[str]) -> Hashes:
    """Distinct 64-bit hashes of all runs of three words, letter case and punctuation of JSON aside;
    sorted.

    A polynomial over the bytes modulo 2**64, from prefix sums: hash(i, j) = (H[j] - H[i]) /
    base**i, then mixed.
    """
    text = "\n".join(texts)
    if not text.isascii():
        text = text.casefold()
    plain = b" ".join(text.encode("utf-8", "replace").translate(_PLAIN).split())
    if not plain:
        return np.empty(0, np.uint64)
    array = np.frombuffer(plain, np.uint8)
    spaces = np.flatnonzero(array == 32)
    if len(plain) > _LONGEST_WORD * (len(spaces) + 1):
        chars = np.flatnonzero((array & 0xC0) != 0x80)
        edges = np.append(chars, len(plain))
        width = min(CHARS, len(chars))
        starts, ends = edges[: len(edges) - width], edges[width:]
    else:
        first, last = np.append(0, spaces + 1), np.append(spaces, len(plain))
        width = min(WORDS, len(first))
        starts, ends = first[: len(first) - width + 1], last[width - 1 :]
    powers, inverses = _powers(len(plain))
    sums = np.empty(len(plain) + 1, np.uint64)
    sums[0] = 0
    np.cumsum((array.astype(np.uint64) + np.uint64(1)) * powers[: len(plain)], out=sums[1:])
    return np.unique(_mixed((sums[ends] - sums[starts]) * inverses[starts]))


_POWERS: list[Hashes] = [np.ones(1, np.uint64), np.ones(1, np.uint64)]


def _powers(length: int) -> tuple[Hashes, Hashes]:
    if len(_POWERS[0]) < length:
        size = 1 << length.bit_length()
        for at, factor in enumerate((_BASE, _INVERSE)):
            steps = np.full(size, factor, np.uint64)
            steps[0] = 1
            _POWERS[at] = np.cumprod(steps)
    return _POWERS[0], _POWERS[1]


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
