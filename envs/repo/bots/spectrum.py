"""Which lines a bug is likely to stand in, by the tests that run them (spectrum-based fault
localisation).
"""

from collections import Counter
from collections.abc import Collection, Mapping
from math import sqrt

Place = tuple[str, int]
"""(path of a file, line)."""


def ochiai(failed: int, passed: int, failing: int) -> float:
    """Suspicion of a line that `failed` of `failing` failing tests run, and `passed` passing ones:
    failed / sqrt(failing · (failed + passed)) (Ochiai; Abreu et al. 2006, equation 2).
    """
    return failed / sqrt(failing * (failed + passed)) if failed else 0.0


def ranked(
    run_by: Mapping[str, Collection[Place]], failing: Collection[str]
) -> list[tuple[Place, float]]:
    """The lines that failing tests run, the most suspicious first; of equals the one that fewer
    tests run, then in the order of files and lines. `run_by`: test -> the lines that it runs.
    """
    failed, passed = Counter[Place](), Counter[Place]()
    for test, places in run_by.items():
        (failed if test in failing else passed).update(set(places))

    count = sum(test in failing for test in run_by)
    scores = {place: ochiai(n, passed[place], count) for place, n in failed.items()}

    return sorted(scores.items(), key=lambda one: (-one[1], passed[one[0]], one[0]))
