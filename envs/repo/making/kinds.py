"""The kinds of bugs by name: how a tree is broken, and its share of a pool."""

from collections.abc import Mapping
from importlib import import_module
from typing import cast

import msgspec

from synth.envs.repo.broken import Breaking
from synth.schemas import ConfigError


class BugKind(msgspec.Struct, frozen=True):
    """Where a way of breaking trees is (module:function), and its share of the default set; shares
    of kinds that are asked for need no sum.
    """

    place: str
    share: float
    engines: tuple[str, ...] = ("python",)

    def breaking(self) -> Breaking:
        """The way itself."""
        module, _, name = self.place.partition(":")
        return cast(Breaking, getattr(import_module(module), name))


KINDS: Mapping[str, BugKind] = {
    "single_site": BugKind("synth.envs.repo.making.sites.single_site:single_site", 0.4),
    "several_sites": BugKind("synth.envs.repo.kinds.several_sites:several_sites", 0.15),
    "feature_removed": BugKind("synth.envs.repo.kinds.feature_removed:feature_removed", 0.25),
    "contract_changed": BugKind("synth.envs.repo.kinds.contract_changed:contract_changed", 0.2),
    "algorithm_swapped": BugKind("synth.envs.repo.kinds.algorithm_swapped:algorithm_swapped", 0.15),
    "stale_state": BugKind("synth.envs.repo.kinds.stale_state:stale_state", 0.15),
}


def kinds_named(names: tuple[str, ...]) -> Mapping[str, BugKind]:
    """Some of them; all, where none is named. Raises `ConfigError`."""
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise ConfigError(f"--kind {unknown[0]}: not known; known: {', '.join(KINDS)}")
    return {name: KINDS[name] for name in names or KINDS}
