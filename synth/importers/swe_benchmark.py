"""Which public benchmark a run of a coding agent belongs to, by what it says of itself: instance,
image, working directories.
"""

import re
from collections.abc import Sequence
from typing import Any

from synth.schemas.trajectory import Turn

_TURNS_ASKED = 5  # the working directory stands under every answer of the shell
# the repositories of the splits as published (Jimenez et al. 2024, SWE-bench)
_REPOSITORIES = {
    "test": "astropy__astropy django__django matplotlib__matplotlib mwaskom__seaborn "
    "pallets__flask psf__requests pydata__xarray pylint-dev__pylint pytest-dev__pytest "
    "scikit-learn__scikit-learn sphinx-doc__sphinx sympy__sympy",
    "dev": "marshmallow-code__marshmallow pvlib__pvlib-python pydicom__pydicom "
    "pylint-dev__astroid pyvista__pyvista sqlfluff__sqlfluff",
}
_SPLIT = {name: split for split, names in _REPOSITORIES.items() for name in names.split()}
_INSTANCE = re.compile(r"^(?P<repository>[\w.-]+__[\w.-]+)-\d+$")
_CLONED = re.compile(r"/(" + "|".join(map(re.escape, _SPLIT)) + r")(?![\w.-])")
_OTHERS = (
    (
        re.compile(r"/testbed\b"),
        "swe-bench/unknown",
    ),  # where the images of SWE-bench keep the repository
    (re.compile(r"/swe-bench__humanevalfix-python\b"), "humanevalfix/python"),
    (re.compile(r"LLM_CTF_Dataset_Dev__"), "nyu-ctf/dev"),
    (re.compile(r"LLM_CTF_Dataset_Test__"), "nyu-ctf/test"),
)


def swe_benchmark(instance: str | None, image: Any, turns: Sequence[Turn]) -> str | None:
    """`swe-bench/test`, `/dev` or `/unknown`, or another benchmark's name and split; None where
    nothing points to one.

    What the shell answered first is searched for working directories: other work on a repository of
    SWE-bench (`/django__django`) counts as the benchmark too, so that nothing of it slips into
    training data.
    """
    named = _INSTANCE.match(instance or "")
    shown = [o.content for turn in turns[:_TURNS_ASKED] for o in turn.observations]
    repository = (
        named["repository"]
        if named
        else next((found[1] for text in shown if (found := _CLONED.search(text))), None)
    )
    if repository is not None:
        return f"swe-bench/{_SPLIT.get(repository, 'unknown')}"
    if isinstance(image, str) and "swebench" in image:
        return "swe-bench/unknown"
    return next(
        (name for pattern, name in _OTHERS if any(pattern.search(text) for text in shown)), None
    )
