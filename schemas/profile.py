"""The profile that a world's expert is asked to play: a name, and the misconceptions that it has
been rid of.
"""

_WITHOUT = " without "


def without(profile: str, names: frozenset[str]) -> str:
    """The profile but for some misconceptions; a profile that is one of them leaves `correct`."""
    if profile in names:
        return "correct"
    return (
        f"{profile}{_WITHOUT}{','.join(sorted(names))}"
        if names and profile != "correct"
        else profile
    )


def spared(profile: str | None) -> tuple[str, frozenset[str]]:
    """The name, `correct` where there is none, and what it is without."""
    name, _, names = (profile or "correct").partition(_WITHOUT)
    return name, frozenset(filter(None, names.split(",")))
