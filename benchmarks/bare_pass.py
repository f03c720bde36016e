"""One pass over trajectories as JSON lines, with as little as can be: decode, canonical keys,
graph, scan, exact copies, way to success.

`python -m benchmarks.bare_pass FILE [--plain]` prints what it found and what it cost; the plain
version does the same with the standard
library alone. The trials of a task stand together in the file.
"""

import gc
import hashlib
import json
import re
import resource
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from time import process_time
from typing import Any

import msgspec
import xxhash

from synth.text.pattern_set import PatternSet

PATTERNS: Mapping[str, str] = {
    "openai": r"\bsk-[A-Za-z0-9_-]{20,}",
    "anthropic": r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    "aws": r"\bAKIA[0-9A-Z]{16}\b",
    "github": r"\bgh[pousr]_[A-Za-z0-9]{36}\b",
    "gitlab": r"\bglpat-[A-Za-z0-9_-]{20}\b",
    "slack": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "google": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "stripe": r"\b[rs]k_live_[0-9A-Za-z]{24}",
    "npm": r"\bnpm_[A-Za-z0-9]{36}\b",
    "hub": r"\bhf_[A-Za-z0-9]{34}\b",
    "token": r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "private key": r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----",
    "password": r"(?i)\bpassword\s*[:=]\s*\S{6,}",
    "bearer": r"(?i)\bbearer\s+[a-z0-9._-]{20,}",
    "card": r"\b(?:\d{4}[ -]){3}\d{4}\b",
    "social security": r"\b\d{3}-\d{2}-\d{4}\b",
    "phone": r"\(\d{3}\) \d{3}-\d{4}",
    "address": r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9.-]{1,255}\.[A-Za-z]{2,}",
    "apology": r"(?i)\bi apologi[sz]e\b",
    "mistake": r"(?i)\bmy mistake\b",
    "sorry": r"(?i)\bi(?:'m| am) sorry\b",
    "retry": r"(?i)\blet me try (?:again|another)\b",
    "wait": r"(?i)\bwait,? (?:actually|no)\b",
    "unable": r"(?i)\bi(?:'m| am) unable to\b",
    "cannot": r"(?i)\bi cannot (?:help|assist|do)\b",
    "error": r"(?m)^Error:? ",
    "trace": r"Traceback \(most recent call last\)",
    "missing": r"(?i)\bnot found\b",
    "transfer": r"(?i)\btransfer(?:red)? to (?:a )?human\b",
    "as a model": r"(?i)\bas an ai (?:language )?model\b",
}
"""18 of secrets and personal data, 12 of behaviour."""
SUCCESS, FAILURE = 1, 2


class Function(msgspec.Struct, gc=False):
    name: str
    arguments: str


class Call(msgspec.Struct, gc=False):
    function: Function
    id: str = ""


class Message(msgspec.Struct, gc=False):
    role: str
    content: str | None = None
    tool_calls: list[Call] | None = None


class Record(msgspec.Struct, gc=False):
    task_id: str
    success: bool
    messages: list[Message]


class Found(msgspec.Struct):
    """What a pass came to; both versions are to agree on it."""

    trajectories: int = 0
    graphs: int = 0
    solved: int = 0
    path_sum: int = 0
    hits: int = 0
    copies: int = 0


def fast_pass(file: Path) -> Found:
    """msgspec, xxh3, plain dicts, RE2's set."""
    found, seen, scan = Found(), set[bytes](), PatternSet(PATTERNS).hits
    decode, value, encode = (
        msgspec.json.Decoder(Record).decode,
        msgspec.json.Decoder().decode,
        msgspec.json.Encoder(order="sorted").encode,
    )
    hashed, digest = xxhash.xxh3_64_intdigest, xxhash.xxh3_128_digest
    with file.open("rb") as lines:
        for _, trials in groupby(
            (decode(line) for line in lines), key=lambda record: record.task_id
        ):
            edges: dict[int, set[int]] = {}
            for trial in trials:
                at, texts = 0, list[str]()
                call = None
                for message in trial.messages:
                    if message.content:
                        texts.append(message.content)
                    if message.tool_calls:
                        call = message.tool_calls[0].function
                        texts.append(call.arguments)
                    elif call is not None and message.role == "tool":
                        try:
                            arguments = encode(value(call.arguments))
                        except msgspec.DecodeError:
                            arguments = call.arguments.encode()
                        node = hashed(
                            b"\0".join(
                                (call.name.encode(), arguments, (message.content or "").encode())
                            )
                        )
                        edges.setdefault(at, set()).add(node)
                        at, call = node, None
                edges.setdefault(at, set()).add(SUCCESS if trial.success else FAILURE)
                text = "\n".join(texts)
                found.hits += len(scan(text))
                key = digest(text.encode())
                found.copies += key in seen
                seen.add(key)
                found.trajectories += 1
            _add_graph(found, edges)
    return found


def plain_pass(file: Path) -> Found:
    """The same with json, sha256 and re."""
    found, seen = Found(), set[bytes]()
    patterns = [re.compile(pattern, re.ASCII) for pattern in PATTERNS.values()]
    with file.open(encoding="utf-8") as lines:
        records: Iterator[dict[str, Any]] = (json.loads(line) for line in lines)
        for _, trials in groupby(records, key=lambda record: record["task_id"]):
            edges: dict[int, set[int]] = {}
            for trial in trials:
                at, texts = 0, list[str]()
                call = None
                for message in trial["messages"]:
                    content = message.get("content") or ""
                    if content:
                        texts.append(content)
                    if message.get("tool_calls"):
                        call = message["tool_calls"][0]["function"]
                        texts.append(call["arguments"])
                    elif call is not None and message["role"] == "tool":
                        try:
                            arguments = json.dumps(json.loads(call["arguments"]), sort_keys=True)
                        except ValueError:
                            arguments = call["arguments"]
                        node = int.from_bytes(
                            hashlib.sha256(
                                f"{call['name']}\0{arguments}\0{content}".encode()
                            ).digest()[:8]
                        )
                        edges.setdefault(at, set()).add(node)
                        at, call = node, None
                edges.setdefault(at, set()).add(SUCCESS if trial["success"] else FAILURE)
                text = "\n".join(texts)
                found.hits += sum(pattern.search(text) is not None for pattern in patterns)
                key = hashlib.sha256(text.encode()).digest()
                found.copies += key in seen
                seen.add(key)
                found.trajectories += 1
            _add_graph(found, edges)
    return found


def _add_graph(found: Found, edges: Mapping[int, set[int]]) -> None:
    steps = shortest(edges)
    found.graphs += 1
    if steps is not None:
        found.solved += 1
        found.path_sum += steps


def shortest(edges: Mapping[int, set[int]]) -> int | None:
    """Fewest steps from the start to a success, breadth first; None without one."""
    level, seen, steps = [0], {0}, 0
    while level:
        steps += 1
        following = []
        for node in level:
            for other in edges.get(node, ()):
                if other == SUCCESS:
                    return steps
                if other not in seen:
                    seen.add(other)
                    following.append(other)
        level = following
    return None


def main(arguments: list[str]) -> None:
    """One pass, its findings and costs as a line of JSON."""
    passed: Callable[[Path], Found] = plain_pass if "--plain" in arguments else fast_pass
    gc.freeze()
    gc.disable()  # records hold no cycles
    began = process_time()
    found = passed(Path(arguments[0]))
    cost = {
        "cpu_s": process_time() - began,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(msgspec.to_builtins(found) | cost))


if __name__ == "__main__":
    main(sys.argv[1:])
