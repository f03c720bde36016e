"""All that an agent is shown in an episode, as texts."""

from collections.abc import Iterator

from synth.envs.transcript import Transcript


def texts_of(played: Transcript) -> list[str]:
    """All that an agent is shown in an episode, and the state keys that go with it."""
    return [text for told in (played.opening, *played.responses) for text in _shown(told)]


def _shown(told: object) -> Iterator[str]:
    for seen in getattr(told, "observations", ()):
        yield seen.content

    yield str(getattr(told, "state_key", ""))
