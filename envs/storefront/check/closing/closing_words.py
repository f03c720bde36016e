"""What an agent says at the end, clause by clause: borne out by what happened, or not to be
checked.

Nothing here is called untrue. A clause that names things, acts, days or money of the shop's in
words that are not read, or that nothing bears out, leaves the episode neither solved nor failed.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from synth.envs.storefront.check.claims import ORDER, TOOLS
from synth.envs.storefront.check.closing.acts import acts, whole
from synth.envs.storefront.check.closing.backing.clause import Clause
from synth.envs.storefront.check.closing.backing.vocabulary import words_unread
from synth.envs.storefront.check.closing.clauses import asserted
from synth.envs.storefront.check.closing.goods import goods
from synth.envs.storefront.check.closing.money import money
from synth.envs.storefront.check.closing.particulars import particulars
from synth.envs.storefront.check.closing.quantities import quantities
from synth.envs.storefront.check.closing.reading import Reading
from synth.envs.storefront.check.closing.standing import standing
from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.check.truth import Untrue, words_of
from synth.envs.storefront.tools.transcript import Event

_ENDING = "anything_else"
_UNREAD = "not read"
"""What is said against a clause of which something is not understood."""
_MANY = 2
_LOOKS: tuple[Callable[[Reading], Iterator[str]], ...] = (
    acts,
    standing,
    goods,
    money,
    particulars,
    quantities,
    whole,
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A clause of the closing words, the turn in which it was said, and why it cannot be checked;
    empty where something that happened bears it out.
    """

    turn: int
    clause: str
    why: str

    def __str__(self) -> str:
        return f"turn {self.turn}: {self.clause.strip()!r} {self.why}"


def spoken(ground: EpisodeGround) -> list[Spoken]:
    """The clauses of the closing words that claim something."""
    return [
        Spoken(event.turn, clause.raw, _why(clause, ground))
        for event in closing(ground.view)
        for clause in asserted(words_of(event), ground)
    ]


def _why(clause: Clause, ground: EpisodeGround) -> str:
    """The first reason why a clause cannot be checked; empty without one."""
    read = Reading(clause, ground)
    missing = (why for look in _LOOKS for why in look(read))

    return words_unread(clause, ground) or next(missing, "")


def closing(view: EpisodeView) -> Iterator[Event]:
    """What was said after the last act or denial, or in its turn; where there was none, in the last
    turn with words.
    """
    said = [event for event in view.events if words_of(event).strip()]
    last = max((event.turn for event in view.calls(*TOOLS, "deny")), default=None)
    since = last if last is not None else said[-1].turn if said else 0

    return (event for event in said if event.turn >= since and not _goes_on(event))


def _goes_on(event: Event) -> bool:
    """Whether words come with a question, or for an agreement: then they are none of the end."""
    field = event.arguments.get("field")

    return event.tool == "confirm_with_customer" or field not in (None, _ENDING)


def judged(lies: Sequence[Untrue], clauses: Sequence[Spoken]) -> tuple[list[Untrue], list[Spoken]]:
    """The claims that are untrue, and the clauses that cannot be checked.

    What is borne out is no lie; one that may be read otherwise is left to the closer reading, where
    there is that. That one's clauses may be parts of a claim, or have it as one. A claim of the end
    is called untrue only where it is simple: one clause, of one order at most, each word read.
    """

    def stands(lie: Untrue) -> bool:
        claim = _bare(lie.claim)
        of = [(one, _bare(one.clause)) for one in clauses if one.turn == lie.turn]
        found = [one for one, words in of if words and (words in claim or claim in words)]
        # nothing of it could be meant otherwise: all is read, and nothing bears it out
        unborne = [one for one in found if one.why and _UNREAD not in one.why]
        simple = len(found) == len(unborne) == 1 and len({*re.findall(ORDER, lie.claim)}) < _MANY
        return not found or (lie.sure and simple)

    return [lie for lie in lies if stands(lie)], [one for one in clauses if one.why]


def _bare(clause: str) -> str:
    """A clause's words."""
    return re.sub(r"\W+", " ", clause.lower()).strip()
