"""An environment whose every call goes through one function: on a thread, or while it is live."""

from collections.abc import Awaitable, Callable
from typing import Any

from synth.schemas import Env

Through = Callable[[Callable[[Env], Awaitable[Any]]], Awaitable[Any]]
"""Awaits a call on the environment itself."""


def forwarded(name: str, through: Through) -> Callable[..., Awaitable[Any]]:
    """A method of `Env` by its name. Raises `AttributeError` for any other."""
    if name not in vars(Env):
        raise AttributeError(name)

    async def method(*given: Any, **named: Any) -> Any:
        return await through(lambda env: getattr(env, name)(*given, **named))

    return method
