"""Pattern scans: RE2's set against `re`, one pattern at a time, on real transcripts; what is found
of planted secrets, and false alarms.

Run: `python -m benchmarks.pattern_scan` (the rates need ../shared/data; without it, transcripts of
the storefront's kind are made)
"""

import re
import sys
from collections import Counter
from collections.abc import Sequence
from statistics import median
from time import process_time

import msgspec

from benchmarks.false_alarms import SECRETS
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.planted_secrets import planted
from benchmarks.real_trajectories import DATA, folders, real
from benchmarks.recorded_episodes import recorded_episodes
from synth.filters.signals.patterns import ANSWERS
from synth.schemas.trajectory import Trajectory
from synth.text.layers import blobs, layers
from synth.text.pattern_set import PatternSet
from synth.text.redaction.findings import Scan
from synth.text.redaction.places import texts
from synth.text.secrets.finder import Finder
from synth.text.secrets.rules import CREDENTIAL, rules

SCANNED = ("tau1", "tau1_retail", "tau2_retail_multi")
"""As performance.md: 400 transcripts of 17 KB."""
SIGNALS = 12
FOUND = ("secrets", "personal", "ip_address")
"""Everything that the filter knows."""


def patterns() -> dict[str, str]:
    """18 of the rules for secrets and personal data, 12 of the failure and exhaustion
    expressions.
    """
    issued = [rule for rule in rules() if rule.read is None and rule.kind != CREDENTIAL]
    found = {
        f"{rule.kind} {at}": rule.pattern for at, rule in enumerate([*issued[:9], *issued[-9:]])
    }
    spoken = [
        f"(?i){pattern}"
        for kinds in ANSWERS.values()
        for kind in kinds.values()
        for pattern in kind.patterns[:2]
    ]
    return found | {f"signal {at}": pattern for at, pattern in enumerate(spoken[:SIGNALS])}


def transcripts(most: int | None) -> list[str]:
    """One text per trajectory."""
    found = list(real(SCANNED)) if DATA.is_dir() else recorded_episodes(most or 400, 1)
    return ["\n".join(text for _, text in texts(trajectory)) for trajectory in found[:most]]


def one_by_one(compiled: Sequence[tuple[str, "re.Pattern[str]"]], text: str) -> tuple[str, ...]:
    """What `re` finds."""
    return tuple(name for name, pattern in compiled if pattern.search(text))


def planted_recall(values: int) -> tuple[int, list[tuple[str, str]]]:
    """How many were planted, and (kind, wrapping) of those that some reading of the text still
    holds.
    """
    finder = Finder()
    count, left = 0, []
    for kind, wrapping, secret, text in planted(17, values):
        count += 1
        clean = list(text)
        for span in reversed(finder.found(text)):
            clean[span.start : span.end] = "[]"
        rest = list(layers("".join(clean)))
        if any(
            secret in layer.text or any(secret in plain for _, _, plain in blobs(layer))
            for layer in rest
        ):
            left.append((kind, wrapping))
    return count, left


def alarms(
    trajectories: Sequence[Trajectory], rounds: int, together: PatternSet
) -> tuple[Counter[str], int, "Passes"]:
    """Findings by kind, trajectories with any, and CPU seconds, escapes and redaction's places
    included.
    """
    began = process_time()
    finder = Finder(find=FOUND)
    compiling = process_time() - began
    read = ["\n".join(text for _, text in texts(trajectory)) for trajectory in trajectories]
    whole, alone = [], []
    for _ in range(rounds):
        scan = Scan(finder)
        began = process_time()
        found = [scan.findings(trajectory) for trajectory in trajectories]
        whole.append(process_time() - began)
        began = process_time()
        for text in read:
            together.hits(text)
        alone.append(process_time() - began)
    kinds = Counter(finding.kind for findings in found for finding in findings)
    return kinds, sum(map(bool, found)), Passes(compiling, whole, alone)


class Passes(msgspec.Struct, frozen=True):
    """CPU seconds over the same trajectories: the filter's patterns compiled, each round of the
    filter, each round of the set after it.
    """

    compiling: float
    whole: list[float]
    alone: list[float]

    def figures(self, trajectories: int) -> list[Figure]:
        """The first round makes RE2's automata as it goes; ratios are of rounds that stand side by
        side.
        """
        sweeps = {rule.sweep for rule in rules()}
        ratios = [whole / alone for whole, alone in zip(self.whole, self.alone, strict=True)]
        return [
            Figure("filter `secrets`, patterns", len(rules())),
            Figure("the same, passes over a text", len(sweeps)),
            Figure("the same, compiling", self.compiling, "s"),
            Figure("the same, first round of all real trajectories", self.whole[0], "s"),
            Figure("the same, fastest round", min(self.whole), "s"),
            Figure(
                "the same, fastest round, trajectories",
                trajectories / min(self.whole),
                "trajectories/s",
            ),
            Figure(
                f"the same against the set of {len(patterns())} on the same texts",
                median(ratios),
                "x",
            ),
        ]


def measure(most: int | None = None, values: int = 30, rounds: int = 5) -> Report:
    """Rates side by side; hits must be the same."""
    chosen = patterns()
    read = transcripts(most)
    together = PatternSet(chosen)
    compiled = [(name, re.compile(pattern, re.ASCII)) for name, pattern in chosen.items()]
    seconds: dict[str, list[float]] = {"set": [], "re": []}
    same = 0
    for at in range(rounds):
        began = process_time()
        ours = [together.hits(text) for text in read]
        seconds["set"].append(process_time() - began)
        if at > rounds // 2:
            continue
        began = process_time()
        theirs = [one_by_one(compiled, text) for text in read]
        seconds["re"].append(process_time() - began)
        same = sum(one == other for one, other in zip(ours, theirs, strict=True))
    count, left = planted_recall(values)
    for (kind, wrapping), times in sorted(Counter(left).items()):
        print(f"missed: {kind} in {wrapping}: {times} of {values}")
    figures = [
        Figure("patterns", len(chosen)),
        Figure("transcripts", len(read)),
        Figure("characters each", sum(map(len, read)) / len(read)),
        Figure("set", len(read) / median(seconds["set"]), "transcripts/s"),
        Figure("re, one pattern at a time", len(read) / median(seconds["re"]), "transcripts/s"),
        Figure(
            "set against re",
            median(seconds["re"]) / median(seconds["set"]),
            "x",
            Target("at least", 50),
        ),
        Figure("transcripts with equal hits", 100 * same / len(read), "%", Target("at least", 100)),
        Figure("secrets planted", count),
        Figure(
            "recall of planted secrets",
            100 * (count - len(left)) / count,
            "%",
            Target("at least", 99),
        ),
    ]
    if DATA.is_dir():
        everything = [trajectory for name in folders() for trajectory in real([name])][:most]
        kinds, any_found, passes = alarms(everything, rounds, together)
        print(f"findings in {len(everything)} real trajectories: {dict(kinds.most_common())}")
        print(f"trajectories with any: {any_found}")
        figures += [
            *passes.figures(len(everything)),
            Figure("real trajectories with a finding", 100 * any_found / len(everything), "%"),
            Figure("findings of secrets in them", sum(kinds[kind] for kind in SECRETS)),
        ]
    return Report(
        "Pattern scans",
        tuple(figures),
        f"CPU seconds of one process, medians of {rounds} rounds of the set and {rounds // 2 + 1} "
        "of re, in turns; "
        f"each kind is planted {values} times in each of 9 wrappings (plain, JSON, JSON in JSON, "
        "escaped characters, URL, base64, ...).",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
