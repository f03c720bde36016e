"""Two or three bugs of one site each, in functions that call one another."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from synth.envs.repo.broken import BrokenTree
from synth.envs.repo.kinds.change import broken_tree, changed
from synth.envs.repo.kinds.hidden.partly import partly_hidden
from synth.envs.repo.making.sites.single_site import by_operator
from synth.envs.repo.pool import Library
from synth.envs.repo.source.text import Edit
from synth.envs.repo.source.tree import Function, Tree, call_chains, read_tree

KIND = "several_sites"
_MOST_MISSES = 20
"""Draws in a row that were drawn before, for each chain, after which none is left to find."""
_Site = tuple[str, Edit]
"""An operator, and what it does to a function."""


@partly_hidden
def several_sites(library: Library, base: Path, random: Random) -> Iterator[BrokenTree]:
    """Chains of calls are drawn, and a site in each of their functions; each set of places once."""
    tree = read_tree(library, base)
    sites = sites_by_function(tree)
    calls = ((call.caller, one) for one in tree.functions for call in tree.calls(one))
    chains = [one for one in call_chains(calls) if all(function in sites for function in one)]
    random.shuffle(chains)
    seen = set[tuple[tuple[str, Edit], ...]]()
    misses = 0
    while chains and misses < _MOST_MISSES * len(chains):
        for chain in chains:
            drawn = [random.choice(sites[function]) for function in chain]
            key = tuple((one.source.path, site[1]) for one, site in zip(chain, drawn, strict=True))
            broken = None if key in seen else _broken(tree, chain, drawn)
            seen.add(key)
            misses = misses + 1 if broken is None else 0
            if broken is not None:
                yield broken


def sites_by_function(tree: Tree) -> dict[Function, list[_Site]]:
    """The sites of each function, by the operators of single bugs."""
    found: dict[Function, list[_Site]] = {}
    spans = {
        path: [
            (source.start(one.node), source.end(one.node), one)
            for one in tree.functions
            if one.source is source
        ]
        for path, source in tree.sources.items()
    }
    for operator, sites in by_operator(tree.sources).items():
        for path, edit in sites:
            for start, end, function in spans[path]:
                if start <= edit.start < end:
                    found.setdefault(function, []).append((operator, edit))
    return found


def _broken(tree: Tree, chain: tuple[Function, ...], drawn: list[_Site]) -> BrokenTree | None:
    pattern = " ".join(sorted(operator for operator, _ in drawn))
    placed = zip(chain, (edit for _, edit in drawn), strict=True)
    broken = broken_tree(KIND, tree, changed(pattern, placed))
    return broken if broken is not None and broken.sites == len(chain) else None
