"""A way of breaking trees of which a share has its tests out of view."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from synth.envs.repo.broken import Breaking, BrokenTree
from synth.envs.repo.kinds.hidden.differential import with_generated_tests
from synth.envs.repo.kinds.hidden.hiding import hidden_tests
from synth.envs.repo.kinds.hidden.moved import Names
from synth.envs.repo.pool import Library
from synth.envs.repo.source.tree import Tree, read_tree

SHARE = 0.75
"""So many that of what grading leaves three in ten and more have hidden tests: of features that
were taken out, which all have them, it leaves few.
"""


def partly_hidden(breaking: Breaking) -> Breaking:
    """Of every four, three are without the tests that mention what is broken, and have generated
    ones beside them, where there are any: about half have none.
    """

    def offered(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
        tree = read_tree(library, base)
        for broken in breaking(library, base, random):
            hidden = None
            if random.random() < SHARE:
                hidden = unseen(library, base, tree, broken, random)
            yield hidden or broken

    offered.__doc__ = breaking.__doc__
    return offered


def unseen(
    library: Library, base: Path, tree: Tree, broken: BrokenTree, random: Random
) -> BrokenTree | None:
    """With the tests of what it breaks moved and generated; None where there are neither."""
    functions = broken.about["functions"].split()
    names = frozenset(one.rpartition(".")[2] for one in functions)
    moved = hidden_tests(tree, broken, Names(names))
    return with_generated_tests(library, base, moved or broken, functions, random) or moved
