"""Repositories of the local Hub: their commits, what is told of a file, what metadata it takes; and
mishaps.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import yaml

LICENCES = {"apache-2.0", "mit", "cc-by-4.0", "other"}


@dataclass
class Repo:
    private: bool
    commits: list[dict[str, bytes]] = field(
        default_factory=lambda: [{".gitattributes": b"*.parquet filter=lfs\n"}]
    )
    messages: list[str] = field(default_factory=lambda: ["initial commit"])

    def oid(self, at: int) -> str:
        return hashlib.sha1(f"{id(self)}-{at}".encode()).hexdigest()

    @property
    def head(self) -> str:
        return self.oid(len(self.commits) - 1)

    def at(self, revision: str) -> dict[str, bytes] | None:
        if revision == "main":
            return self.commits[-1]
        return next(
            (files for at, files in enumerate(self.commits) if self.oid(at) == revision), None
        )


@dataclass
class Mishap:
    """What happens to the next `times` requests whose "METHOD path" matches, after `skip` of
    them.
    """

    pattern: str
    status: int | None = None  # None: the connection is cut
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    skip: int = 0
    after: bool = False  # the request is carried out, and then its answer lost
    call: Callable[[], None] | None = None


def is_lfs(path: str) -> bool:
    return path.endswith(".parquet")


def blob_id(blob: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(blob) + blob).hexdigest()


def entry(path: str, blob: bytes) -> dict[str, Any]:
    told: dict[str, Any] = {"type": "file", "path": path, "size": len(blob), "oid": blob_id(blob)}
    if is_lfs(path):
        told["lfs"] = {
            "oid": hashlib.sha256(blob).hexdigest(),
            "size": len(blob),
            "pointerSize": 130,
        }
    return told


def validated(wanted: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
    """The Hub's own rules, as far as they are relied on: YAML that parses, a licence that it knows,
    configurations of the right shape.
    """
    try:
        found = yaml.safe_load(wanted["content"].split("---\n")[1])
    except (IndexError, yaml.YAMLError) as error:
        return 400, {"errors": [{"message": f"no metadata: {error}"}], "warnings": []}, {}
    errors = []
    if found.get("license") not in LICENCES:
        errors.append({"message": f'"license" must be one of {sorted(LICENCES)}'})
    for config in found.get("configs", []):
        if not isinstance(config.get("config_name"), str) or not config.get("data_files"):
            errors.append({"message": '"configs" must have config_name and data_files'})
    return (400 if errors else 200), {"errors": errors, "warnings": []}, {}
