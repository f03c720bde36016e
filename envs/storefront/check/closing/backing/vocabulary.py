"""The words of a clause that are of no kind that is known (`data/said.yaml`)."""

import re

from synth.envs.storefront.check.closing.backing.clause import Clause, given, without
from synth.envs.storefront.check.closing.backing.reasons import reasons
from synth.envs.storefront.check.closing.backing.said import SAID, known_words, pattern, patterns
from synth.envs.storefront.check.ground import EpisodeGround

_WORD = re.compile(r"@?[^\W_]+(?:'[^\W_]+)*")


def words_unread(clause: Clause, ground: EpisodeGround) -> str:
    """What is said against a clause with words of no kind; empty where each is of one."""
    text = f"{clause.text} {clause.contrast}"
    if clause.denied:
        text = pattern("of_a_file").sub(" ", text)

    left = without(text, _looked_up(ground, denied=clause.denied))
    words = [one.removesuffix("'s") for one in _WORD.findall(left)]
    known = known_words() | ground.names | _of_the_episode(clause, ground)
    unread = [one for one in words if not one.startswith("@") and one not in known]

    return f"has words that are not read: {', '.join(unread)}" if unread else ""


def _of_the_episode(clause: Clause, ground: EpisodeGround) -> frozenset[str]:
    """The words that are known in an episode alone: what the customer asked for, where that is
    handed over; the goods that are no more taken back, where that was a reason.
    """
    handed = "R13" in ground.grounds and ("escalate" in clause.acts or clause.because)
    final = "R8" in ground.grounds and clause.because

    above = "R6" in ground.grounds and "escalate" in clause.acts

    return (
        (ground.asked.words if handed else frozenset())
        | (frozenset(SAID["of_a_supervisor"].split() if above else ()))
        | (frozenset(ground.view.base.rules.final_sale if final else ()))
    )


def _looked_up(ground: EpisodeGround, *, denied: bool) -> list[re.Pattern[str]]:
    """The patterns whose meaning is compared with what happened; reasons only where they were."""
    told = (words for name in ("methods", "why_cancelled") for words in given(name, ground))
    return [
        *reasons(ground),
        *map(pattern, SAID["looked_up"]),
        *patterns("acts").values(),
        *patterns("statuses").values(),
        *([pattern("late")] if ground.was_late else ()),
        *([pattern("of_a_denial")] if denied else ()),
        *told,
    ]
