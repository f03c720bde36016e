"""Trees that this process keeps, so that a restore is a mount in place of a copy."""

from collections import OrderedDict

from synth.confinement.branches import Branch, Frozen, how_branches_are_made
from synth.confinement.keeping import KeeperEndedError

MOST_LAYERS, MOST_COPIES = 512, 16
"""Trees kept at a time, where each is a layer of what was changed, and where it is a whole copy."""


class FrozenTrees:
    """Frozen trees by the hash of what they hold; those used longest ago go first."""

    def __init__(self) -> None:
        self._trees: OrderedDict[str, Frozen] = OrderedDict()
        self._most = 0

    async def keep(self, name: str, branch: Branch) -> None:
        """Keeps a branch's tree as it is now."""
        if name in self._trees:
            self._trees.move_to_end(name)
            return

        if not self._most:
            by_copies = how_branches_are_made().startswith("copies")
            self._most = MOST_COPIES if by_copies else MOST_LAYERS

        self._trees[name] = await branch.freeze()
        while len(self._trees) > self._most:
            self._trees.popitem(last=False)

    async def thaw(self, name: str, branch: Branch) -> bool:
        """Makes a branch a tree that is kept; False where there is none."""
        found = self._trees.get(name)
        if found is None:
            return False

        try:
            await branch.thaw(found)
        except KeeperEndedError:
            self._trees.clear()
            return False

        self._trees.move_to_end(name)
        return True


FROZEN = FrozenTrees()
