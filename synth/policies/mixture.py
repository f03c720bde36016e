"""Several policies taking turns: who decides a turn is drawn by weight."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from synth.boundary import imported
from synth.policies.chance import turn_draws
from synth.policies.registry import POLICIES
from synth.schemas import (
    Act,
    Authorship,
    ConfigError,
    Episode,
    Policy,
    PolicySpec,
    View,
    explain,
    strictly,
)

MakePolicy = Callable[..., PolicySpec]


class Share(BaseModel):
    """One policy by name and its weight; every other key is the policy's own setting."""

    model_config = ConfigDict(frozen=True, extra="allow")

    policy: str
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class MixtureConfig(BaseModel):
    """Two policies or more."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    of: Annotated[tuple[Share, ...], Field(min_length=2)]


class _Mixture:
    def __init__(
        self, episode: Episode, policies: Sequence[Policy], weights: Sequence[float]
    ) -> None:
        self._episode = episode
        self._policies = policies
        self._weights = weights

    async def act(self, view: View) -> Act:
        """What the policy drawn for this turn does."""
        (policy,) = turn_draws(self._episode, view).choices(self._policies, self._weights)
        return await policy.act(view)


def mixture_policy(
    settings: Mapping[str, Any], *, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    """A seeded choice per turn. Raises `ConfigError` for a policy that is not known or does not
    take its settings.
    """
    config = strictly(MixtureConfig, dict(settings))
    parts = [_part(place, share, model_name, sampling) for place, share in enumerate(config.of)]
    weights = [share.weight for share in config.of]
    asked = next((part for part in parts if part.model is not None), None)
    authors = {part.authorship for part in parts}

    def open_mixture(episode: Episode) -> Policy:
        return _Mixture(episode, [part.open(episode) for part in parts], weights)

    return PolicySpec(
        name="mixture",
        authorship=authors.pop() if len(authors) == 1 else Authorship.MIXED,
        identity={
            "policy": "mixture",
            "of": [
                {"weight": weight, "policy": dict(part.identity)}
                for weight, part in zip(weights, parts, strict=True)
            ],
        },
        open=open_mixture,
        model=asked.model if asked else None,
        sampling=asked.sampling if asked else {},
    )


def _part(
    place: int, share: Share, model_name: str | None, sampling: Mapping[str, Any]
) -> PolicySpec:
    """One share as a policy."""
    where = f"policy mixture: of[{place}]"
    module_name, _, attribute = POLICIES.get(share.policy, share.policy).partition(":")

    if not attribute:
        known = ", ".join(sorted(POLICIES))
        raise ConfigError(
            f"{where}.policy {share.policy!r} is not known; known: {known}, or "
            "package.module:attribute"
        )

    make: MakePolicy = imported(f"{where}.policy {share.policy!r}", f"{module_name}:{attribute}")

    try:
        return make(dict(share.model_extra or {}), model_name=model_name, sampling=sampling)
    except ValidationError as error:
        raise ConfigError(explain(error, prefix=where)) from error
