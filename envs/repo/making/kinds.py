"""The kinds of bugs by name: how a tree is broken, and its share of a pool."""

from collections.abc import Mapping
from importlib import import_module
from typing import cast

import msgspec

from synth.envs.repo.broken import Breaking
from synth.schemas import ConfigError


class BugKind(msgspec.Struct, frozen=True):
    """Where a way of breaking trees is (module:function), and its share of the default set; shares
    of kinds that are asked for need no sum. One that is `late` is made of the tasks that the
    others came to.
    """

    place: str
    share: float
    late: bool = False
    engines: tuple[str, ...] = ("python",)

    def breaking(self) -> Breaking:
        """The way itself."""
        module, _, name = self.place.partition(":")
        return cast(Breaking, getattr(import_module(module), name))


_JS, _NODE = "synth.envs.repo.kinds.javascript", ("node",)
_SITES, _KINDS = "synth.envs.repo.making.sites", "synth.envs.repo.kinds"
KINDS: Mapping[str, BugKind] = {
    "single_site": BugKind(f"{_SITES}.single_site:single_site", 0.15),
    "several_sites": BugKind(f"{_KINDS}.several_sites:several_sites", 0.2),
    "contract_changed": BugKind(f"{_KINDS}.contract_changed:contract_changed", 0.2),
    "feature_removed": BugKind(f"{_KINDS}.feature_removed:feature_removed", 0.15),
    "algorithm_swapped": BugKind(f"{_KINDS}.algorithm_swapped:algorithm_swapped", 0.1),
    "stale_state": BugKind(f"{_KINDS}.stale_state:stale_state", 0.05),
    "history_mirrored": BugKind(f"{_KINDS}.history_mirrored:history_mirrored", 0.05),
    "javascript_one_site": BugKind(f"{_JS}.sites:one_site", 0.1, engines=_NODE),
    "javascript_several_sites": BugKind(f"{_JS}.sites:several_sites", 0.3, engines=_NODE),
    "javascript_feature_removed": BugKind(f"{_JS}.feature:feature_removed", 0.35, engines=_NODE),
    "javascript_contract_changed": BugKind(f"{_JS}.contract:contract_changed", 0.15, engines=_NODE),
    "javascript_stale_state": BugKind(f"{_JS}.contract:stale_state", 0.1, engines=_NODE),
    "chained": BugKind(f"{_KINDS}.chained:chained", 0.1, late=True),
}
"""Their order is that in which libraries take turns; where one comes to nothing, the others fill
its place.
"""


def kinds_named(names: tuple[str, ...]) -> Mapping[str, BugKind]:
    """Some of them; all, where none is named. Raises `ConfigError`."""
    unknown = [name for name in names if name not in KINDS]
    if unknown:
        raise ConfigError(f"--kind {unknown[0]}: not known; known: {', '.join(KINDS)}")
    return {name: KINDS[name] for name in names or KINDS}
