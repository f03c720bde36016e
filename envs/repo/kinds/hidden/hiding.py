"""A broken tree whose tests of what broke are out of view."""

import msgspec

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.hidden.moved import Unseen, count_tests, parted, unseen_path
from synth.envs.repo.source.tree import Tree

MOST = 0.7
"""Of a library's tests: what more of them mention is the library, no feature of it."""


def hidden_tests(tree: Tree, broken: BrokenTree, names: Unseen) -> BrokenTree | None:
    """The tests that mention a name are moved out of the tree, and come back for the check alone;
    None where there are none, where more than `MOST` would go, or where what all tests use
    needs the name.
    """
    if any(names.in_code(one.tree) for one in tree.support.values() if names.in_text(one.text)):
        return None
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
    everything = sum(count_tests(source.text) for source in tree.tests.values())
    unseen = sum(count_tests(text) for path, text in hidden.items() if path not in broken.hidden)
    if not unseen or unseen > MOST * everything:
        return None
    return msgspec.structs.replace(broken, edits=edits, hidden=hidden, solution=solution)
