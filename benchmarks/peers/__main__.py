"""`python -m benchmarks.peers`: synth beside verifiers, Inspect, Curator and distilabel, against
one server: tables for docs/peers.md.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks.machine import CpuOfOthers, machine
from benchmarks.peers.contenders import CALLS, CONTENDERS, Contender
from benchmarks.peers.environments import make
from benchmarks.peers.one_run import Ran, run

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "synth" / "peers"
DESCRIPTION = """\
Drives the same work through synth and through other tools, in turn, against one loopback server of
fixed latency, and prints a table per number of calls in flight. Each tool has a virtual environment
of its own, made at first use: that needs a package index and 3 GB. About half an hour as it stands;
--calls-per-place 8 --rounds 1 --in-flight 64 takes two. No part of `make bench` or of CI; Linux
only."""


def measured(
    contenders: Sequence[Contender],
    in_flight: int,
    calls: int,
    latency_ms: float,
    rounds: int,
    environments: Path,
) -> dict[Contender, list[Ran]]:
    """Every contender once per round, one after the other."""
    runs: dict[Contender, list[Ran]] = {contender: [] for contender in contenders}
    for number in range(rounds):
        for contender, found in runs.items():
            found.append(run(contender, calls, in_flight, latency_ms, environments))
            told = f"round {number + 1}, {in_flight} in flight, {contender.name}, {contender.shape}"
            print(
                f"{told}: efficiency {found[-1].efficiency:.3f}, {found[-1].cpu_ms:.2f} ms",
                file=sys.stderr,
                flush=True,
            )
    return runs


def rows(runs: Mapping[Contender, Sequence[Ran]], shape: str) -> list[str]:
    """A Markdown table of one shape of work: medians, and in brackets the smallest and largest
    efficiency.
    """
    lines = [
        "| | efficiency | of synth's | CPU per call | peak memory | before the first call | after "
        "the last reply | most in flight |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ours = None
    for contender, found in runs.items():
        if contender.shape != shape:
            continue
        efficiency = median(ran.efficiency for ran in found)
        ours = ours or efficiency
        lowest, highest = min(ran.efficiency for ran in found), max(ran.efficiency for ran in found)
        lines.append(
            f"| {contender.name} | {efficiency:.2f} ({lowest:.2f} to {highest:.2f}) | "
            f"{efficiency / ours:.2f}x "
            f"| {median(ran.cpu_ms for ran in found):.2f} ms | "
            f"{median(ran.peak_mb for ran in found):.0f} MB "
            f"| {median(ran.before_s for ran in found):.1f} s | "
            f"{median(ran.after_s for ran in found):.1f} s "
            f"| {max(ran.most_in_flight for ran in found)} |"
        )
    return lines


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--in-flight",
        type=int,
        nargs="+",
        default=[64, 256],
        help="calls under way at a time [64 256]",
    )
    parser.add_argument(
        "--calls-per-place",
        type=int,
        default=16,
        help="calls = this x in flight; a multiple of 8 [16]",
    )
    parser.add_argument("--latency-ms", type=float, default=300, help="of every reply [300]")
    parser.add_argument("--rounds", type=int, default=3, help="medians of so many [3]")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="WORD",
        help="contenders whose name holds one of these words",
    )
    parser.add_argument(
        "--environments",
        type=Path,
        default=CACHE,
        help=f"where the virtual environments are kept [{CACHE}]",
    )
    options = parser.parse_args()
    if options.calls_per_place < CALLS or options.calls_per_place % CALLS:
        parser.error(f"--calls-per-place is a multiple of {CALLS}, so that episodes are whole")
    return options


def main() -> None:
    """Makes the environments, measures, prints."""
    options = arguments()
    contenders = [
        each
        for each in CONTENDERS
        if not options.only or any(word.lower() in each.name.lower() for word in options.only)
    ]
    environments = options.environments.resolve()
    make(
        environments,
        sorted({each.environment for each in contenders if each.environment is not None}),
    )
    print(f"{machine()}\nload average before: {os.getloadavg()[0]:.2f}")
    for in_flight in options.in_flight:
        others, calls = CpuOfOthers(), options.calls_per_place * in_flight
        runs = measured(
            contenders, in_flight, calls, options.latency_ms, options.rounds, environments
        )
        bound_s = calls * options.latency_ms / 1000 / in_flight
        for shape in dict.fromkeys(each.shape for each in contenders):
            print(
                f"\n## {in_flight} in flight, {calls} calls at {options.latency_ms:g} ms (lower "
                f"bound {bound_s:.1f} s): {shape}\n"
            )
            print("\n".join(rows(runs, shape)), flush=True)
        print(
            f"\nMedians of {options.rounds}, in turn; other processes kept {others.cores():.2f} "
            "cores busy.",
            flush=True,
        )


if __name__ == "__main__":
    main()
