"""What servers say that is not so: bodies and whole answers that are no reply of the agent
(`quirks.py` has odd ones that are).

Each text of a lie holds the canary, so that every place that it comes to can be found. The test's
own table: `LIES` and `WIRE_LIES` are faults, whatever the reader under test says.
"""

import gzip
import json
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from random import Random
from typing import Any

CANARY = "canary-of-a-lie"
Reply = dict[str, Any]
NO_ENDS = (
    "error", "abort", "aborted", "cancelled", "canceled", "timeout", "insufficient_system_resource",
    "", " ", "STOP", "Stop", "stop ", "stopped", "null", "none", "unknown", "load", "eos?",
    "model_error", "ERROR", "content-filter",
    "tool_call", "length_exceeded", "💥", "stop\x00",
    "interrupted", "preempted", "overloaded", "in_progress", "incomplete",
)  # fmt: skip


def lied(reply: Reply) -> Reply:
    """The reply with the canary in the place of all that was written."""
    reply = deepcopy(reply)
    for choice in reply["choices"]:
        calls = [
            {
                "id": "call_lie",
                "type": "function",
                "function": {"name": "echo", "arguments": json.dumps({"text": CANARY})},
            }
        ]
        choice["message"] = {"role": "assistant", "content": CANARY, "tool_calls": calls}
    return reply


def _ended(word: Any) -> Callable[[Reply, Random], Reply]:
    def lie(reply: Reply, draw: Random) -> Reply:
        reply = lied(reply)
        reply["choices"][0]["finish_reason"] = word
        if draw.random() < 0.5:
            reply["choices"][0]["message"].pop("tool_calls")
        return reply

    return lie


def _with(*path: Any, value: Any) -> Callable[[Reply, Random], Reply]:
    """The lied reply with one place set to a value, or to one of a tuple of values."""

    def lie(reply: Reply, draw: Random) -> Reply:
        place: Any = (reply := lied(reply))
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = draw.choice(value) if isinstance(value, tuple) else value
        return reply

    return lie


def _empty(**message: Any) -> Callable[[Reply, Random], Reply]:
    def lie(reply: Reply, draw: Random) -> Reply:
        reply = lied(reply)
        reply["choices"][0] |= {
            "message": {"role": "assistant", **message},
            "finish_reason": draw.choice(["stop", "tool_calls", None]),
        }
        reply["usage"] = draw.choice(
            [None, {"prompt_tokens": 9, "completion_tokens": 0, "total_tokens": 9}]
        )
        reply["choices"][0].pop("token_ids", None)
        return reply

    return lie


def _without(*path: Any) -> Callable[[Reply, Random], Reply]:
    def lie(reply: Reply, draw: Random) -> Reply:
        place: Any = (reply := lied(reply))
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]
        return reply

    return lie


def _more(reply: Reply, draw: Random) -> Reply:
    reply = lied(reply)
    reply["choices"] = [
        {**reply["choices"][0], "index": index} for index in range(draw.randint(2, 5))
    ]
    return reply


def _call_lost(reply: Reply, draw: Random) -> Reply:
    reply = lied(reply)
    reply["choices"][0]["message"].pop("tool_calls")
    reply["choices"][0]["finish_reason"] = draw.choice(["tool_calls", "function_call"])
    return reply


ERRORS: tuple[Any, ...] = (
    {"message": "overloaded"}, {"code": 502, "message": "Provider returned error"},
    "upstream reset",    {"type": "x"}, [1], True, 500,
)  # fmt: skip
CHOICE = ("choices", 0)
LIES: Mapping[str, Callable[[Reply, Random], Reply]] = {
    **{f"ended by {word!r}": _ended(word) for word in NO_ENDS},
    "ended by something else than a word": _with(
        *CHOICE, "finish_reason", value=(1, True, [], {}, ["stop"], 0.5)
    ),
    "an error in the choice": _with(*CHOICE, "error", value=ERRORS),
    "an error in the message": _with(*CHOICE, "message", "error", value=ERRORS),
    "an error beside the choices": _with("error", value=ERRORS),
    "no choices": _with("choices", value=([], None, {}, "none", 1)),
    "choices left out": _without("choices"),
    "a choice that is none": _with("choices", value=([None], ["x"], [[]], [1])),
    "a null message": _with(*CHOICE, "message", value=(None, "text", [], 7)),
    "a message left out": _without(*CHOICE, "message"),
    "the message of another": _with(
        *CHOICE, "message", "role", value=("user", "system", "tool", "model", 3)
    ),
    "content of another type": _with(
        *CHOICE, "message", "content", value=(1, True, {"text": CANARY}, ["x"])
    ),
    "an empty reply": _empty(content=None),
    "an empty reply of no letters": _empty(content="", tool_calls=[]),
    "an empty reply of parts": _empty(content=[], refusal=None),
    "a call that is lost": _call_lost,
    "calls that are no list": _with(
        *CHOICE, "message", "tool_calls", value=({}, "x", 1, {"0": {}})
    ),
    "a call that is none": _with(
        *CHOICE, "message", "tool_calls", value=([None], [1], ["x"], [[]])
    ),
    "a call of nothing": _with(
        *CHOICE, "message", "tool_calls", value=([{"id": "a"}], [{"id": "a", "function": None}])
    ),
    "a call without a name": _with(
        *CHOICE, "message", "tool_calls", 0, "function", value=({"arguments": "{}"}, {"name": None})
    ),
    "a call id that is no text": _with(
        *CHOICE, "message", "tool_calls", 0, "id", value=(7, [], {}, True)
    ),
    "more choices than asked for": _more,
    "tokens below zero": _with("usage", "completion_tokens", value=(-1, -(2**70))),
    "more tokens than there are": _with("usage", "prompt_tokens", value=(2**31, 2**63, 10**40)),
    "parts of a token": _with("usage", "completion_tokens", value=(1.5, "12", True, [1])),
    "usage that is none": _with("usage", value=("x", 1, [1], True)),
    "more cached than there was": _with(
        "usage", value={"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 6}}
    ),
    "token ids below zero": _with(
        *CHOICE, "token_ids", value=([1, -1], [2**31], [0.5], ["1"], "1")
    ),
    "prompt token ids that are none": _with("prompt_token_ids", value=([-1], [None], {}, "x")),
    "log-probabilities that are none": _with(
        *CHOICE, "logprobs", value=("x", [1], {"content": [{"logprob": "-1"}]}, {"content": [None]})
    ),
    "a model that is no name": _with("model", value=(1, [], {})),
    "a chunk of a stream": lambda reply, draw: {
        **reply,
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": CANARY}],
    },
    "a detail": lambda reply, draw: {
        "detail": draw.choice(["Not Found", [{"loc": ["body"], "msg": CANARY}]])
    },
    "an error as the object": lambda reply, draw: {
        "object": "error",
        "message": CANARY,
        "code": draw.choice([400, 500, None]),
    },
}


def _twice(name: str, first: Callable[[Random], Any]) -> Callable[[bytes, Random], bytes]:
    """One field twice in its object, the first time with another value."""

    def lie(body: bytes, draw: Random) -> bytes:
        key = (
            json.dumps(name)
            if draw.random() < 0.7
            else '"' + "".join(f"\\u{ord(letter):04x}" for letter in name) + '"'
        )
        quoted = json.dumps(name).encode()
        assert quoted in body, name
        at = body.rindex(quoted + b":")
        return body[:at] + f"{key}: {json.dumps(first(draw))}, ".encode() + body[at:]

    return lie


def _deep(body: bytes, draw: Random) -> bytes:
    opener = draw.choice([b"[", b'{"a":'])
    return b'{"choices": [{"message": {"content": ' + opener * draw.choice([2_000, 100_000])


BODY_LIES: Mapping[str, Callable[[bytes, Random], bytes]] = {
    "cut off": lambda body, draw: body[: draw.randrange(1, len(body.rstrip()))],
    "no body": lambda body, draw: draw.choice(
        [b"", b" ", b"\n\n", b"null", b"[]", b"0", b'"ok"', b"true"]
    ),
    "a page": lambda body, draw: (
        f"<!DOCTYPE html><html><h1>502 Bad Gateway</h1>{CANARY}</html>".encode()
    ),
    "words": lambda body, draw: f"upstream connect error or disconnect/reset {CANARY}".encode(),
    "a stream of events": lambda body, draw: b"data: " + body + b"\n\ndata: [DONE]\n\n",
    "two bodies": lambda body, draw: body + body,
    "something behind it": lambda body, draw: (
        body.rstrip() + draw.choice([b"}", b"]", b"garbage", b"\x00", b", {}"])
    ),
    "another character set": lambda body, draw: (
        body.replace(CANARY.encode(), "café".encode("latin-1"), 1)
    ),
    "sixteen bits a letter": lambda body, draw: (
        body.decode().encode(draw.choice(["utf-16", "utf-32"]))
    ),
    "a byte order mark": lambda body, draw: b"\xef\xbb\xbf" + body,
    "packed and not said so": lambda body, draw: gzip.compress(body),
    "no number": lambda body, draw: re.sub(
        rb'"created": \d+', b'"created": ' + draw.choice([b"NaN", b"-Infinity", b"01"]), body
    ),
    "quotes of another kind": lambda body, draw: body.replace(b'"', b"'"),
    "letters that no text has": lambda body, draw: body.replace(CANARY.encode(), b"a\x00b\nc", 1),
    "without end in depth": _deep,
    "one choices field beside another": _twice("choices", lambda draw: []),
    "one finish beside another": _twice(
        "finish_reason", lambda draw: draw.choice(["error", "stop", "abort"])
    ),
    "one message beside another": _twice(
        "message", lambda draw: {"role": "assistant", "content": "another"}
    ),
    "one content beside another": _twice("content", lambda draw: "another"),
    "one call beside another": _twice("tool_calls", lambda draw: []),
    "arguments beside others": _twice("arguments", lambda draw: "{}"),
}  # fmt: skip
"""What is done to the bytes of a lied reply."""


def body_of(reply: Mapping[str, Any]) -> bytes:
    """The reply as JSON."""
    return json.dumps(reply).encode()


def lying_body(kind: str, reply: Reply, draw: Random) -> bytes:
    """The body of a lie of one kind, in the place of an honest reply."""
    if kind in LIES:
        return body_of(LIES[kind](reply, draw))
    honest = body_of(lied(reply))
    body = BODY_LIES[kind](honest, draw)
    assert body != honest, kind
    return body
