"""How tests of each language are given other expectations and other inputs."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from synth.envs.repo.honesty import twisted, varied
from synth.envs.repo.honesty.javascript import twisted as js_twisted
from synth.envs.repo.honesty.javascript import varied as js_varied
from synth.envs.repo.pool import Engine


class TestLanguage(NamedTuple):
    """`endings` of its files; `twisted` gives a file with other expectations and the names of the
    tests that have one, `varied` one with other inputs in tests of these names; `name_of` is a
    test's name within its file, by its id.
    """

    endings: tuple[str, ...]
    twisted: Callable[[str], tuple[str, tuple[str, ...]]]
    varied: Callable[[str, tuple[str, ...], int], str | None]
    name_of: Callable[[str], str]


def _whole_name(test: str) -> str:
    """`suite::test` of `test/a.test.mjs::suite::test`; brackets are part of a title."""
    return test.partition("::")[2]


LANGUAGES: Mapping[Engine, TestLanguage] = {
    "python": TestLanguage((".py",), twisted.twisted, varied.varied, twisted.name_of),
    "node": TestLanguage(
        (".mjs", ".cjs", ".js"), js_twisted.twisted, js_varied.varied, _whole_name
    ),
}
