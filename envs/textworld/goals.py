"""What a game asks for, in words: written from the fact that must come true, never from the steps
that lead there.
"""

from random import Random

from synth.envs.textworld.commands import Command

WORDINGS = {
    "take": (
        "Find the {0} and take it with you.",
        "Bring the {0} into your possession.",
        "You need the {0}: get hold of it.",
    ),
    "drop": (
        "Leave the {0} on the floor of the {1}.",
        "The {0} belongs on the floor of the {1}.",
        "Drop the {0} in the {1}.",
    ),
    "put": (
        "Put the {0} on the {1}.",
        "The {0} belongs on the {1}.",
        "See to it that the {0} lies on the {1}.",
    ),
    "insert": (
        "Put the {0} into the {1}.",
        "The {0} belongs in the {1}.",
        "See to it that the {0} is in the {1}.",
    ),
    "open": ("Open the {0}.", "The {0} should stand open.", "Get the {0} open."),
    "close": ("Close the {0}.", "The {0} should be closed.", "See to it that the {0} is shut."),
    "unlock": (
        "Unlock the {0}.",
        "The {0} should not be locked any more.",
        "Get the {0} unlocked.",
    ),
    "lock": ("Lock the {0}.", "The {0} should be locked.", "See to it that the {0} is locked."),
    "eat": ("Eat the {0}.", "Find the {0} and eat it.", "The {0} should be eaten up, by you."),
}


def sentence(last: Command, room: str, draw: Random) -> str:
    """One goal: what the last command of its solution brings about; `room` is where that is."""
    told = {
        "drop": (*last.arguments, room),
        "unlock": last.arguments[:1],
        "lock": last.arguments[:1],
    }.get(last.tool, last.arguments)
    return draw.choice(WORDINGS[last.tool]).format(*told)
