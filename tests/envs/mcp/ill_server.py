"""An MCP server that does one thing wrong, named as its argument. It is started by itself, and
imports nothing of ours.
"""

import json
import mmap
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

KIND = sys.argv[1] if len(sys.argv) > 1 else ""
WORLD = Path("/world")


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": "", "inputSchema": {"type": "object", "properties": {}}}


def listed(cursor: str | None) -> dict[str, Any]:
    if KIND == "no tools":
        return {"tools": []}
    if KIND == "many":
        return {"tools": [tool(f"tool_{number}") for number in range(500)]}
    if KIND == "pages":
        return (
            {"tools": [tool("go")], "nextCursor": "second"}
            if cursor is None
            else {"tools": [tool("later")]}
        )
    if KIND == "pages without end":
        return {
            "tools": [tool(f"tool_{cursor}_{number}") for number in range(500)],
            "nextCursor": f"{cursor}x",
        }
    return {"tools": [tool("go")]}


def called() -> None:
    if KIND == "hangs":
        time.sleep(60)
    if KIND == "dies":
        print("Error: going down\n  at line 3", file=sys.stderr)
        os._exit(3)
    if KIND == "endless line":
        for _ in range(1000):
            sys.stdout.write("x" * 1_000_000)
    if KIND == "grows":
        for number in range(200):
            (WORLD / f"big{number}").write_bytes(bytes(1_000_000))
            time.sleep(0.02)
    if KIND == "deleted":
        kept = []
        for number in range(40):
            kept.append((WORLD / f"big{number}").open("wb"))
            kept[-1].write(bytes(1_000_000))
            kept[-1].flush()
            (WORLD / f"big{number}").unlink()
        time.sleep(20)
    if KIND == "folders":
        for number in range(6000):
            (WORLD / f"d{number}").mkdir()
    if KIND == "shared memory":
        held = mmap.mmap(-1, 300 << 20)
        for at in range(0, 300 << 20, 4096):
            held[at] = 1
        time.sleep(20)
    if KIND == "burst":  # too much for less than the half second between two looks
        for _ in range(8):
            if os.fork() == 0:
                held_briefly = bytearray(50 << 20)
                time.sleep(0.2)
                os._exit(len(held_briefly) % 2)
        for _ in range(8):
            os.wait()
    if KIND == "bomb":
        number = 0
        while True:
            try:
                if os.fork() == 0:
                    time.sleep(60)
                    os._exit(0)
            except OSError:
                (WORLD / "number").write_text(str(number))
                return
            number += 1
    if KIND == "pipe":
        os.mkfifo("/world/pipe")
        (WORLD / "link").symlink_to("/etc/passwd")
    if KIND == "leaves work":
        subprocess.Popen(["/bin/sh", "-c", "while :; do date > /world/beat; sleep 0.1; done"])


def text() -> str:
    if KIND == "bomb":
        return (WORLD / "number").read_text()
    return {"long": "y" * 10_000_000, "environment": json.dumps(sorted(os.environ))}.get(
        KIND, "caf\u00e9" if KIND == "not utf-8" else "ok"
    )


def main() -> None:
    if KIND == "does not start":
        print(
            "Traceback (most recent call last):\nModuleNotFoundError: No module named 'gone'\n  "
            "(and more)",
            file=sys.stderr,
        )
        sys.exit(1)
    while KIND == "only garbage":
        print("hello", flush=True)
        time.sleep(0.1)
    for line in sys.stdin:
        asked = json.loads(line)
        if KIND == "garbage":
            sys.stdout.buffer.write(b"INFO: starting \xff\n{\n")
            sys.stdout.flush()
        method, found = asked.get("method"), {}
        if method == "initialize":
            found = {
                "protocolVersion": asked["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
            }
            found["serverInfo"] = {"name": "t", "version": "1"}
        elif method == "tools/list":
            found = listed((asked.get("params") or {}).get("cursor"))
        elif method == "tools/call":
            called()
            found = {"content": [{"type": "text", "text": text()}]}
        else:
            continue
        said = json.dumps(
            {"jsonrpc": "2.0", "id": asked["id"], "result": found}, ensure_ascii=False
        )
        sys.stdout.buffer.write(said.encode("latin-1" if KIND == "not utf-8" else "utf-8") + b"\n")
        sys.stdout.flush()


main()
