"""A broken tree whose tests of what broke are out of view."""

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.hidden.moved import Unseen, parted, unseen_path
from synth.envs.repo.kinds.source.tree import Tree


def hidden_tests(tree: Tree, broken: BrokenTree, names: Unseen) -> BrokenTree | None:
    """The tests that mention a name are moved out of the tree, and come back for the check alone;
    None where there are none.
    """
    edits, hidden, solution = dict(broken.edits), dict(broken.hidden), dict(broken.solution)
    for path, source in tree.tests.items():
        found = parted(source, names)
        if found is None or path in broken.edits:
            continue
        edits[path] = found.seen
        if found.seen is None:
            hidden[path] = found.unseen
        else:
            hidden[unseen_path(path, found.unseen)], solution[path] = found.unseen, found.seen
    if len(hidden) == len(broken.hidden):
        return None
    return msgspec.structs.replace(broken, edits=edits, hidden=hidden, solution=solution)
