"""A filter written as one function: its keyword parameters are the settings that a flow may
give.
"""

from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec

from pydantic import BaseModel

from synth.schemas.filtering import Case, Filter
from synth.schemas.keyword_settings import given, keyword_settings
from synth.schemas.verdict import Verdict

P = ParamSpec("P")
Judging = Callable[Concatenate[Case, P], Awaitable[Verdict]]


def filter(*, version: int = 1, opens: bool = False) -> Callable[[Judging[P]], Filter]:
    """Makes `async def short(case: Case, *, longest: int = 20) -> Verdict` a filter, in a flow
    `package.module:short`.

    Keyword parameters are its settings, each with an annotation; those without a default must be
    given. Raise `version` where the function decides otherwise than before: it then judges
    everything anew. `opens`: it opens environments (`case.open_env`). Raises `ConfigError` for a
    function that cannot be one.
    """

    def made(function: Judging[P]) -> Filter:
        config = keyword_settings(function, "filter", "case")
        return Filter(config=config, judge=_judging(function), version=version, opens=opens)

    return made


def _judging(function: Callable[..., Awaitable[Verdict]]) -> Callable[..., Awaitable[Verdict]]:
    async def judge(case: Case, settings: BaseModel) -> Verdict:
        return await function(case, **given(settings))

    return judge
