"""An MCP server that tells its key in every spelling, wherever it can say something. It imports
nothing of ours.
"""

import base64
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import quote

KEY = os.environ["SHOP_TOKEN"]
RAW = KEY.encode()


def spelled(text: bytes) -> list[str]:
    """The key within other text, in whatever a server might write it."""
    found = [
        text.decode(),
        text.decode().upper(),
        text.hex(),
        text.hex().upper(),
        text.hex(":"),
        text.hex(" "),
    ]
    found += [
        base64.b64encode(b"u" * before + text + b":v" * before).decode() for before in range(3)
    ]
    found += [
        base64.urlsafe_b64encode(b"u" * before + text).decode().rstrip("=") for before in range(3)
    ]
    found += [
        base64.encodebytes(b"padding in front of it, as of a mail: " + text).decode(),
        base64.b64encode(base64.b64encode(text)).decode(),
    ]
    found += [
        quote(text.decode(), safe=""),
        "".join(f"%{byte:02x}" for byte in text),
        "".join(f"%25{byte:02X}" for byte in text),
    ]
    found += [
        "".join(f"\\u{byte:04x}" for byte in text),
        "".join(f"\\x{byte:02x}" for byte in text),
        "".join(f"&#{byte};" for byte in text),
    ]
    found += [
        json.dumps(text.decode()),
        json.dumps(json.dumps(text.decode())),
        f"https://user:{text.decode()}@shop.example/v1?token={text.decode()}",
    ]
    return found


def answer(method: str, asked: dict) -> dict:
    """What it answers to a request."""
    everything = "\n".join([*spelled(RAW), *spelled(b"user:" + RAW)])
    if method == "initialize":
        told = {
            "protocolVersion": asked["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "instructions": everything,
        }
        return {"result": {**told, "serverInfo": {"name": KEY, "version": "1"}}}
    if method == "tools/list":
        schema = {
            "type": "object",
            "properties": {"name": {"type": "string", "default": KEY, "enum": ["a", "b", KEY]}},
            "required": ["name"],
        }
        tools = [
            {"name": name, "description": f"{name}: {everything}", "inputSchema": schema}
            for name in ("put", "fail", "break", "cut")
        ]
        return {"result": {"tools": tools}}
    kind = asked["params"]["name"]
    if kind == "fail":
        return {
            "error": {
                "code": -32000 + 500,
                "message": f"refused: {everything}",
                "data": {KEY: everything},
            }
        }
    if kind == "break":
        print(f"Error: no connection with {KEY}, {base64.b64encode(RAW).decode()}", file=sys.stderr)
        os._exit(3)
    if kind == "cut":
        return {
            "result": {"content": [{"type": "text", "text": "x" * (50_000 - len(KEY) + 3) + KEY}]}
        }
    name = (
        str((asked["params"].get("arguments") or {}).get("name"))[:20].replace("/", "_") or "none"
    )
    Path(f"{name}.txt").write_text(f"note {name}\n{everything}\n")
    Path(f"of-{quote(KEY, safe='')}.jsonl").write_text(
        json.dumps({"note": name, "token": KEY}) + "\n"
    )
    return {
        "result": {
            "content": [{"type": "text", "text": f"stored {name}\n{everything}"}],
            "structuredContent": {KEY: KEY},
            "isError": False,
        }
    }


def main() -> None:
    """Answers a line each."""
    print(f"starting with {KEY}", file=sys.stderr)
    if len(sys.argv) > 1 and sys.argv[1] == "does not start":
        print(
            f"Traceback\nValueError: bad token {KEY} ({quote(KEY)}, {RAW.hex()})", file=sys.stderr
        )
        sys.exit(1)
    if len(sys.argv) > 1 and sys.argv[1] == "garbage":
        for _ in range(20):
            print(f"my token is {KEY}", flush=True)
            time.sleep(0.02)
        sys.exit(1)
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            said = {"jsonrpc": "2.0", "id": asked["id"], **answer(asked["method"], asked)}
            noted = {
                "jsonrpc": "2.0",
                "method": "notifications/message",
                "params": {"level": "error", "data": KEY},
            }
            print(json.dumps(noted), flush=True)
            print(json.dumps(said), flush=True)


main()
