"""How the environment's own expert errs, by name, and what is next for it then; a misconception
lasts all through an episode.
"""

import re
from collections.abc import Callable, Mapping

from synth.envs.repo.repair.acts import Act, call_hash
from synth.envs.repo.repair.plan import SUBMIT, RepairPlan, as_act
from synth.envs.repo.repair.slips import function_at, functions, slipped_edits, slips

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
_EXPECTS = re.compile(r"^(\s*assert )(.+?) == .+$")
_ASSERTS = re.compile(r"^(\s*)(?:assert\b|self\.assert).*[^,(\[{\\]$")
SEEN_SLIPS = 30
"""Slips to choose from."""


def repairs_half(plan: RepairPlan) -> Act:
    """Half of the edits; a slip where there is but one."""
    whole = plan.at_start()
    if len(whole) < 2:
        return _once(plan, slip_of(plan))

    left = plan.left()
    if len(left) <= len(whole) // 2:
        return plan.tested()

    return plan.unseen() or plan.edit(left[0])


def repairs_another(plan: RepairPlan) -> Act:
    """One edit in a function that is all right."""
    return _once(plan, another(plan, plan.files.start))


def never_tests(plan: RepairPlan) -> Act:
    """All edits, the last with a slip, without any run of the tests."""
    slip, left = slip_of(plan), plan.left()
    if not left or plan.done.has(slip):
        return SUBMIT

    looks = [act for act in plan.looks() if act != plan.tests and not plan.done.has(act)]
    if looks:
        return looks[0]

    return plan.edit(slip if slip is not None and len(left) == 1 else left[0])


def edits_the_test(plan: RepairPlan) -> Act:
    """Makes the failing test expect less."""
    for path, text in plan.files.start.items():
        if path in plan.files.wanted or text is None:
            continue

        edit = as_act(path, text, weakened(text, _names(plan)))
        if edit is not None:
            return _once(plan, edit)

    return gives_up(plan)


def gives_up(plan: RepairPlan) -> Act:
    """Looks, and no more."""
    return plan.unseen() or SUBMIT


def wrong_file_first(plan: RepairPlan) -> Act:
    """A wrong edit, a run of the tests, then the right ones, by which the wrong one goes."""
    wrong = another(plan, plan.files.start)
    if wrong is None or not plan.left():
        return plan.next()

    if not plan.done.has(wrong):
        return plan.unseen() or plan.edit(wrong)

    return plan.tests if plan.done.calls[-1] == call_hash(*wrong) else plan.next()


def takes_it_back(plan: RepairPlan) -> Act:
    """All edits, then a file as it was: what tests notice, as they did before."""
    back = taken_back(plan)
    if plan.done.has(back):
        return SUBMIT

    return plan.next() if plan.left() or back is None else plan.tested(back)


NEXT: Mapping[str, Callable[[RepairPlan], Act]] = {
    "correct": RepairPlan.next,
    "repairs_half": repairs_half,
    "repairs_another": repairs_another,
    "never_tests": never_tests,
    "edits_the_test": edits_the_test,
    "gives_up": gives_up,
    "wrong_file_first": wrong_file_first,
    "takes_it_back": takes_it_back,
}


def _once(plan: RepairPlan, edit: Act | None) -> Act:
    """Looks, one edit, a run of the tests, the end; no edit where all is well."""
    if not plan.left():
        return plan.tested()

    if edit is None or plan.done.has(edit):
        return gives_up(plan) if edit is None else plan.tested()

    return plan.unseen() or plan.edit(edit)


def slip_of(plan: RepairPlan) -> Act | None:
    """The last edit with a slip, as it could be made at the start."""
    paths = sorted(plan.files.start, reverse=not plan.from_the_end)
    for path in paths:
        now, wanted = plan.files.start[path], plan.files.wanted.get(path)
        found = list(slipped_edits(now or "", wanted or "")) if now and wanted else []
        if found:
            _, hunk = found[int(plan.pick * min(len(found), SEEN_SLIPS))]
            return "replace", {"path": path, "old": hunk.old, "new": hunk.new}

    return None


def taken_back(plan: RepairPlan) -> Act | None:
    """The reverse of all edits of one file."""
    for path in sorted(plan.files.wanted):
        before, wanted = plan.files.start.get(path), plan.files.wanted[path]
        if before and wanted:
            return as_act(path, wanted, before)

    return None


def another(plan: RepairPlan, texts: Mapping[str, str | None]) -> Act | None:
    """A slip in a function that is all right, of a file that is broken."""
    for path in sorted(plan.files.wanted):
        text, wanted = texts.get(path), plan.files.wanted[path]
        if not text or not wanted:
            continue

        known = set(wanted.splitlines())
        broken = {
            function_at(text, at)
            for at, line in enumerate(text.splitlines(), 1)
            if line not in known
        }
        lines = [at for name, places in functions(text) if name not in broken for at in places]
        every = list(slips(text, lines))
        likely = [slipped for kind, slipped in every if kind != "result"]
        found = (likely or [slipped for _, slipped in every])[:SEEN_SLIPS]
        if found:
            return as_act(path, text, found[int(plan.pick * len(found))])

    return None


def _names(plan: RepairPlan) -> list[str]:
    """The names of the tests that fail."""
    return [name.rpartition("::")[2].partition("[")[0] for name in plan.place.task.failing]


def weakened(text: str, names: list[str]) -> str:
    """A test file in which one of these tests expects less; as it was where none can be made."""
    lines = text.splitlines(keepends=True)
    for name, places in functions(text):
        for at in places if name in names else ():
            line = lines[at].rstrip("\n")
            expects, asserts = _EXPECTS.match(line), _ASSERTS.match(line)
            if asserts is None:
                continue

            less = f"{expects[1]}{expects[2]} is not None" if expects else f"{asserts[1]}pass"
            return "".join([*lines[:at], f"{less}\n", *lines[at + 1 :]])

    return text
