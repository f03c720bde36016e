"""Who speaks in a log of several agents: `Orchestrator (-> WebSurfer)` is `Orchestrator` in a role,
and an agent is one agent, however its name is spelled.
"""

import re
from collections.abc import Iterable

_IN_ROLE = re.compile(
    r"""\A (?P<agent> [^()\[\]]*? [^()\[\]\s] ) \s*
    (?P<role> [(\[] .* | (?: -+> | =+> | → ) .* \S ) \Z""",
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {"(": ")", "[": "]"}
_SEVERAL = re.compile(r"[,;/&|+]|\band\b")


def agent_and_role(speaker: str) -> tuple[str, str | None]:
    """`Orchestrator (-> WebSurfer)` is `Orchestrator`, who speaks as `-> WebSurfer`."""
    named = speaker.strip().rstrip(":").strip()
    found = _IN_ROLE.match(named)
    return (found["agent"], _within(found["role"])) if found else (named, None)


def _within(role: str) -> str | None:
    """A role without the brackets that hold the whole of it."""
    opens, closes = role[0], _PAIRS.get(role[0], "")
    depth = 0
    for at, letter in enumerate(role):
        depth += (letter == opens) - (letter == closes)
        if closes and not depth:
            return role[1:-1].strip() or None if at == len(role) - 1 else role
    return role.removeprefix(opens).strip() if closes else role


def plain(name: str) -> str:
    """A name without what people spell in different ways; the name itself where nothing is left."""
    return re.sub(r"[\W_]+", "", name).lower() or name


def spelled(names: Iterable[str | None]) -> dict[str, str]:
    """Each agent's name as it was first spelled, by its plain name."""
    first: dict[str, str] = {}
    for name in names:
        if name is not None:
            first.setdefault(plain(name), name)
    return first


def meant(told: str, speakers: dict[str, str], speaking: str | None) -> str:
    """The agent that a label names; of several the one that is `speaking` where it points, else the
    first that spoke at all. As the label spells it where nobody of that name spoke.
    """
    whole, *parts = (agent_and_role(one)[0] for one in (told, *_SEVERAL.split(told)))
    if plain(whole) in speakers:
        return speakers[plain(whole)]
    spoke = [speakers[plain(one)] for one in parts if plain(one) in speakers]
    return speaking if speaking in spoke else next(iter(spoke), whole)
