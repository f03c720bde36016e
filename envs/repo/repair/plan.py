"""What the environment's own expert does next: it looks, runs the tests that fail, edits place by
place, runs them again, and hands in. The reverse of what broke the tree is its knowledge.
"""

from collections.abc import Iterator, Mapping
from random import Random

import msgspec

from synth.envs.repo.repair import acts
from synth.envs.repo.repair.acts import Act, call_hash
from synth.envs.repo.repair.hunks import Hunk, hunks
from synth.envs.repo.repair.slips import function_at
from synth.envs.repo.task_tree import TaskTree

SUBMIT: Act = ("submit", {})
MOST_FILES = 3
"""Test files that are run at a time."""
MOST_VIEWS = 4
"""Places that are looked at before the first edit; others when their turn comes."""


class Done(msgspec.Struct, frozen=True):
    """The calls so far, by what tells them apart; `since_edit` of them came after the last edit."""

    calls: tuple[str, ...]
    since_edit: int

    def has(self, act: Act | None) -> bool:
        """Whether a call was made."""
        return act is not None and call_hash(*act) in self.calls

    def has_since_edit(self, act: Act) -> bool:
        """Whether a call was made in the tree as it is."""
        late = self.calls[len(self.calls) - self.since_edit :]
        return call_hash(*act) in late


class RepairTexts(msgspec.Struct, frozen=True):
    """Files by path: as they were at the start, as they are now, as they are to be."""

    start: Mapping[str, str | None]
    now: Mapping[str, str | None]
    wanted: Mapping[str, str | None]


class RepairPlan:
    """What is left to be done as things stand, and how this trial goes about it."""

    def __init__(self, place: TaskTree, files: RepairTexts, done: Done, draw: Random) -> None:
        self.place, self.files, self.done = place, files, done
        engine, words = place.library.engine, acts.words()

        # all are drawn each time: what comes next must not depend on what came before
        self.looks_around = draw.random() < 0.5
        self.tests_first = draw.random() < 0.5
        self.from_the_end = draw.random() < 0.5
        self.around = acts.bash(draw.choice(words.look_around[engine]))
        run = draw.choice((words.run_tests, words.run_quietly))[engine]
        self._search = draw.choice((words.search, words.search_uses))[engine]
        self.pick = draw.random()

        self.tests = acts.bash(run.replace("{file}", " ".join(place.seen_tests[:MOST_FILES])))

    def left(self, files: RepairTexts | None = None) -> list[Act]:
        """The edits that are still to be made, in this trial's order."""
        seen = files or self.files
        paths = sorted(seen.wanted, reverse=self.from_the_end)
        return [
            act for path in paths for act in acts.edits(path, seen.now.get(path), seen.wanted[path])
        ]

    def at_start(self) -> list[Act]:
        """The edits that were to be made at the start."""
        files = self.files
        return self.left(msgspec.structs.replace(files, now=files.start))

    def looks(self) -> Iterator[Act]:
        """What is looked at before anything is changed, the places that are broken last."""
        if self.looks_around:
            yield self.around

        found = [self.tests, *self.searches()]
        yield from found if self.tests_first else found[::-1]
        yield from self.views()

    def views(self) -> list[Act]:
        """Looks at the first places that were broken at the start."""
        found = list[Act]()
        for act in self.at_start():
            look = self.place_of(act, self.files.start)
            if look is not None and look not in found:
                found.append(look)

        return found[:MOST_VIEWS]

    def searches(self) -> list[Act]:
        """A search for the function that is broken first."""
        for path, text in sorted(self.files.start.items()):
            hunk = next(iter(hunks(text or "", self.files.wanted.get(path) or "")), None)
            name = function_at(text or "", hunk.last) if hunk and text else None
            if name:
                return [acts.search(self._search, name)]

        return []

    def unseen(self) -> Act | None:
        """The next look that was not taken."""
        return next((act for act in self.looks() if not self.done.has(act)), None)

    def edit(self, act: Act) -> Act:
        """An edit, or first a look at its place, unless that was seen as it was at the start."""
        look, before = (self.place_of(act, one) for one in (self.files.now, self.files.start))
        if look is None or self.done.has(look) or self.done.has(before):
            return act

        return look

    def place_of(self, act: Act, files: Mapping[str, str | None]) -> Act | None:
        """A look at the place of an edit; None where that is no place in a file."""
        tool, arguments = act
        text = files.get(arguments.get("path", ""))
        if tool != "replace" or not text or not arguments["old"] or arguments["old"] not in text:
            return None

        line = text.count("\n", 0, text.find(arguments["old"])) + 1
        return acts.view(arguments["path"], line, line + arguments["old"].count("\n"))

    def tested(self, then: Act = SUBMIT) -> Act:
        """A run of the tests, unless they ran since the last edit."""
        return then if self.done.has_since_edit(self.tests) else self.tests

    def next(self) -> Act:
        """What is next without a misconception."""
        look, left = self.unseen(), self.left()
        if look is not None and left:
            return look

        return self.edit(left[0]) if left else self.tested()


def as_act(path: str, now: str, then: str) -> Act | None:
    """A changed text as an edit; None where nothing changed."""
    hunk: Hunk | None = next(iter(hunks(now, then)), None)
    return None if hunk is None else acts.replace(path, hunk)
