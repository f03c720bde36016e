"""The licences of what this project is built from, by the metadata of the packages, against the
list of those that are allowed.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from supply.lock import LOCKS, entries, plain

LIST = Path(__file__).with_name("licences.yaml")
LONGEST = 60
"""Characters of a licence's name; what is longer is its text."""


class Package(NamedTuple):
    """A package, and the licence that its metadata names; empty where that names none."""

    name: str
    version: str
    licence: str


def licence_of(metadata: Mapping[str, Any]) -> str:
    """What a package says of its licence: an expression, a name, or its classifiers."""
    expression = str(metadata.get("license_expression") or "").strip()
    named = str(metadata.get("license") or "").strip()
    if expression or (
        named and len(named) < LONGEST and "\n" not in named and named.upper() != "UNKNOWN"
    ):
        return expression or named
    told = [
        one.rpartition(" :: ")[2]
        for one in metadata.get("classifier", ())
        if one.startswith("License ::")
    ]
    return " AND ".join(one for one in told if one != "OSI Approved")


def of_the_locks(python: str, folder: Path = LOCKS) -> list[Package]:
    """Every package of every lock that this platform can have, by the pip of an interpreter, which
    reads metadata and installs nothing.
    """
    pins = sorted(
        {
            entry.rstrip(" \\\n").splitlines()[0].rstrip(" \\")
            for lock in folder.glob("*.txt")
            for entry in entries(lock.read_text()).values()
        }
    )
    with tempfile.TemporaryDirectory() as place:
        Path(place, "pins.txt").write_text("\n".join(pins))
        command = [
            python,
            "-m",
            "pip",
            "install",
            "-q",
            "--dry-run",
            "--ignore-installed",
            "--no-deps",
            "--no-build-isolation",
        ]
        subprocess.run(
            [*command, "--report", f"{place}/report.json", "-r", f"{place}/pins.txt"], check=True
        )
        report = json.loads(Path(place, "report.json").read_text())
    found = (one["metadata"] for one in report["install"])
    return sorted(Package(one["name"], one["version"], licence_of(one)) for one in found)


def of_a_bill(path: Path) -> list[Package]:
    """The components of a bill of materials in CycloneDX's JSON."""
    bill = json.loads(path.read_text())

    def said(component: Mapping[str, Any]) -> Iterator[str]:
        for one in component.get("licenses", ()):
            told = (
                one.get("expression")
                or one.get("license", {}).get("id")
                or one.get("license", {}).get("name")
                or ""
            )
            yield str(told).removeprefix("License :: OSI Approved :: ").removeprefix("License :: ")

    parts = [
        (
            one,
            [
                name
                for name in said(one)
                if name not in ("OSI Approved", "UNKNOWN") and len(name) < LONGEST
            ],
        )
        for one in bill["components"]
    ]
    return sorted(
        Package(one["name"], one["version"], names[0] if names else "") for one, names in parts
    )


def refused(packages: Iterable[Package], listed: Mapping[str, Any]) -> list[str]:
    """A line for each package that has no licence, or one that is neither allowed nor named with a
    reason.
    """
    allowed = {spelling.lower() for line in listed["allowed"] for spelling in line}
    named = {plain(name) for name, reason in listed["named"].items() if str(reason).strip()}
    found = []
    for package in packages:
        parts = (
            [
                part.strip(" ()")
                for part in re.split(r" (?:AND|OR) ", package.licence.replace(" and ", " AND "))
            ]
            if package.licence
            else []
        )
        whole = package.licence.lower() in allowed
        if whole or (parts and all(part.lower() in allowed for part in parts)):
            continue
        if plain(package.name) in named or plain(package.name).startswith(
            tuple(listed["families"])
        ):
            continue
        why = f"has the licence {package.licence!r}" if package.licence else "names no licence"
        found.append(
            f"{package.name} {package.version} {why}: name it with a reason in "
            "supply/licences.yaml, or leave the package out"
        )
    return found


def main(words: Sequence[str]) -> int:
    """`--report FILE PYTHON`: of all locks, into a table; `--bill FILE`: of a bill of materials."""
    packages = of_a_bill(Path(words[1])) if words[0] == "--bill" else of_the_locks(words[2])
    if words[0] == "--report":
        with Path(words[1]).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([Package._fields, *packages])
    problems = refused(packages, yaml.safe_load(LIST.read_text(encoding="utf-8")))
    for line in problems:
        print(line, file=sys.stderr)
    print(f"{len(packages)} packages, {len(problems)} of them refused")
    return 1 if problems or not packages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
