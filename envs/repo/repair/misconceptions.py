"""How the environment's own expert errs, by name; a misconception lasts all through an episode."""

from collections.abc import Mapping

MISCONCEPTIONS: Mapping[str, str] = {
    "repairs_half": "mends the first half of what is broken, and hands that in",
    "repairs_another": "takes another function of the same file for the broken one",
    "never_tests": "runs no test, before or after, and slips at the last edit",
    "edits_the_test": "changes what the failing test expects",
    "gives_up": "looks around, then hands in what is there",
    "wrong_file_first": "edits another place first, sees that it helps nothing, and undoes it",
    "takes_it_back": "mends all, then takes one of the edits back",
}
"""Profile -> what it does."""
