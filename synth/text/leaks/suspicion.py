"""What may be a leak in other words: sentences that allude to help, and what the lesson alone had
told. No rule can be sure of either, so a judge decides, or nobody does.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from synth.schemas import Trajectory, Turn
from synth.text.leaks.allusion import alludes, explained_by, sentences
from synth.text.leaks.canary import without_canary
from synth.text.leaks.facts import Facts, Shown, codes_of, facts_of
from synth.text.leaks.references import RECENT, failed
from synth.text.leaks.scan import Leak, authored
from synth.text.leaks.telling import telling_odds, tells
from synth.text.paraphrase.masking import masked

ALLUSION, TOLD = "allusion_to_help", "told_by_guidance"


def suspicions(
    trajectory: Trajectory,
    guidance: str | None = None,
    *,
    since: int | None = None,
    hidden: str = "",
    usual: Collection[str] = (),
) -> tuple[Leak, ...]:
    """What in the turns from `since` on (else the pivot) a judge would have to look at, in order.

    `guidance` is what was whispered (the trajectory's own, where it is not given); `hidden` is what
    else nobody was shown, such as a check: of it only names and codes count. `usual` are sentences
    of unguided agents (`sentence_of`), which allude to nothing.
    """
    lesson = _lesson(trajectory, guidance, hidden)
    found = list[Leak]()

    for at, shown in _guided(trajectory, since):
        turn = trajectory.turns[at]
        lately = trajectory.turns[max(0, at - RECENT) : at]
        found += _alluding(turn, shown, usual, lately)
        found += _telling(turn, lesson, shown, usual)

    return tuple(found)


def turn_odds(trajectory: Trajectory) -> Mapping[int, float]:
    """By turn from the pivot on in which the agent wrote, the log odds in nats of the sentence that
    seems most to tell what the guidance alone had told.
    """
    lesson = _lesson(trajectory, None, "")
    found: dict[int, float] = {}

    for at, shown in _guided(trajectory, None):
        turn = trajectory.turns[at]
        parts = _parts(turn)
        if parts:
            found[turn.index] = max(telling_odds(one, lesson, shown) for one in parts)

    return found


def _lesson(trajectory: Trajectory, guidance: str | None, hidden: str) -> Facts:
    """What was whispered, with the names and codes of what else is hidden."""
    whispered = guidance if guidance is not None else trajectory.guidance or ""
    lesson = facts_of(without_canary(whispered))
    return lesson if not hidden else lesson.with_codes(codes_of(hidden))


def _guided(trajectory: Trajectory, since: int | None) -> Iterator[tuple[int, Shown]]:
    """The place of each turn from `since` on (else the pivot), and what everybody knew before."""
    first = since if since is not None else trajectory.pivot_turn or 0
    shown = Shown()
    shown.show(trajectory.system_prompt or "", said=False)
    shown.show(msgspec.json.encode(trajectory.tools).decode(), said=False)
    heard = [told.content for told in trajectory.opening]

    for at, turn in enumerate(trajectory.turns):
        for text in heard:
            shown.show(text)

        if turn.index >= first:
            yield at, shown

        heard = [told.content for told in turn.observations]
        heard += [] if turn.index >= first else authored(turn)


@lru_cache(maxsize=16384)
def sentence_of(text: str) -> str:
    """A sentence without entities and case: two agents that say the same of other things are
    equal.
    """
    return " ".join(masked(text).casefold().split())


def usual_sentences(trajectory: Trajectory) -> Iterator[str]:
    """What an agent says that had no help."""
    for turn in trajectory.turns:
        for text in authored(turn):
            yield from map(sentence_of, sentences(text))


def _alluding(
    turn: Turn, shown: Shown, usual: Collection[str], lately: Sequence[Turn]
) -> Iterator[Leak]:
    """The first sentence of a turn that alludes to help; `lately` are the turns before it."""
    for text in authored(turn):
        # most sentences allude to nothing, whatever was shown
        for one in filter(alludes, sentences(text)):
            words = frozenset[str]().union(*map(explained_by, shown.said))
            failure = any(map(failed, lately))
            if sentence_of(one) not in usual and alludes(one, words, failed=failure):
                yield Leak(ALLUSION, turn.index, one)
                return


def _telling(turn: Turn, lesson: Facts, shown: Shown, usual: Collection[str]) -> Iterator[Leak]:
    """The first thing in a turn that the lesson alone had told, or a sentence that seems to tell of
    it.
    """
    parts = _parts(turn)
    for one in parts:
        told = shown.told_by(lesson, one)
        if told is not None:
            yield Leak(TOLD, turn.index, f"{told}: {one}")
            return

    for one in parts:
        # a common sentence tells by what is filled in alone
        if sentence_of(one) not in usual and tells(one, lesson, shown):
            yield Leak(TOLD, turn.index, one, weak=True)
            return


def _parts(turn: Turn) -> list[str]:
    """The sentences of a turn; which tool is called is no word of the agent's."""
    names = {call.name for call in turn.tool_calls}
    texts = [text for text in authored(turn) if text not in names]
    return [one for text in texts for one in sentences(text) or [text]]
