"""The key is looked for in everything that leaves the client: whole, by a walk over what errors
hold, and in the logs.
"""

import asyncio
import gc
import io
import json
import logging
import traceback
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.keys.remover import MARK, KeyRemover
from synth.models.registry import open_model
from synth.models.servers.http_chat import open_openai, open_vllm
from synth.models.servers.server_chat import ServerChat
from synth.models.settings import ModelSettings
from synth.policies.chat import chat_policy
from synth.schemas.model import ModelError, Sampling
from tests.synth.models.chat_server import ChatServer, Mishap

KEY = "sk-leak-canary-4711"
QUESTION = [{"role": "user", "content": "hello"}]
KINDS = (
    *(
        "unauthorized",
        "context_length",
        "bad_request",
        "status",
        "hang",
        "disconnect",
        "disconnect_before",
        "truncated_json",
    ),
    *(
        "malformed_json",
        "wrong_content_type",
        "empty_choices",
        "null_message",
        "announced_endless",
        "huge_usage",
    ),
)


OPENERS = {"openai": open_openai, "vllm": open_vllm}


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)


def reachable(root: Any) -> str:
    """All text that hangs on an error: its attributes, causes and contexts, and whatever those
    hold.
    """
    texts, seen, queue = [], set(), [root]
    while queue:
        thing = queue.pop()
        if id(thing) in seen or isinstance(thing, type | type(gc)):
            continue
        seen.add(id(thing))
        texts.append(repr(thing))
        if isinstance(thing, BaseException):
            queue += [thing.__cause__, thing.__context__, *thing.args, *vars(thing).values()]
        elif isinstance(thing, dict):
            queue += [*thing.keys(), *thing.values()]
        elif isinstance(thing, list | tuple | set | frozenset):
            queue += thing
        elif hasattr(thing, "__dict__"):
            queue += vars(thing).values()
    return "\n".join(texts)


@pytest.mark.slow
@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("engine", OPENERS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_error_no_log_and_no_traceback_holds_the_key(kind: str, engine: str) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)

    async def scene(server: ChatServer) -> ModelError:
        settings = ModelSettings(
            engine=engine,
            base_url=server.url,
            model="m",
            api_key_env="CANARY_KEY",
            max_retries=1,
            timeout_s=0.3,
            total_timeout_s=1,
        )
        model = OPENERS[engine](settings, draw=lambda: 0.5)
        with pytest.raises(ModelError) as caught:
            await model.complete(QUESTION, (), Sampling())
        await model.close()
        return caught.value

    try:
        with ChatServer(model="m", mishaps=[Mishap(kind)] * 50) as server:
            error = asyncio.run(scene(server))
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert "planned" in str(error) or kind != "status"
    assert KEY not in reachable(error)
    assert KEY not in "".join(traceback.format_exception(error))
    assert KEY not in written.getvalue()


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("engine", OPENERS)
def test_no_setting_identity_repr_or_reply_holds_the_key_even_where_the_server_repeats_it(
    engine: str,
) -> None:
    def parrot(body: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": f"your key is {KEY}"}

    async def scene(server: ChatServer) -> list[str]:
        settings = ModelSettings(
            engine=engine, base_url=server.url, model="m", api_key_env="CANARY_KEY"
        )
        model = open_model(settings)
        reply = await model.complete(QUESTION, (), Sampling())
        spec = chat_policy(
            {}, model_name=settings.model, sampling=msgspec.to_builtins(settings.sampling())
        )
        transport = OPENERS[engine](settings)
        await transport.close()
        await model.close()
        assert isinstance(transport, ServerChat)
        return [
            *(repr(thing) for thing in (settings, model, transport, reply, spec)),
            settings.model_dump_json(),
            msgspec.json.encode(reply).decode(),
            msgspec.json.encode([spec.identity, spec.sampling, spec.model]).decode(),
        ]

    with ChatServer(parrot, model="m") as server:
        texts = asyncio.run(scene(server))
    assert "your key is [key]" in texts[3]
    assert KEY not in "\n".join(texts)


@pytest.mark.usefixtures("_key")
def test_a_list_of_models_that_repeats_the_key_loses_it() -> None:
    async def scene(server: ChatServer) -> ModelError:
        model = open_model(
            ModelSettings(engine="vllm", base_url=server.url, model="m", api_key_env="CANARY_KEY")
        )
        with pytest.raises(ModelError) as caught:
            await model.complete(QUESTION, (), Sampling())
        await model.close()
        return caught.value

    with ChatServer(model=f"served-for-{KEY}") as server:
        error = asyncio.run(scene(server))
    assert "but served-for-[key]" in str(error)
    assert KEY not in reachable(error)


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("kind", ["none", "escaped_key"])
def test_a_reply_that_repeats_the_key_in_whatever_spelling_loses_it_and_says_so(kind: str) -> None:
    def parrot(body: Any) -> dict[str, Any]:
        word = KEY if kind == "none" else "KEY"
        call = {
            "id": "c",
            "type": "function",
            "function": {"name": "tell", "arguments": f'{{"key": "{word}"}}'},
        }
        return {
            "role": "assistant",
            "content": f"your key is {word}",
            "reasoning_content": word,
            "tool_calls": [call],
        }

    async def scene(server: ChatServer) -> Any:
        model = open_model(ModelSettings(base_url=server.url, model="m", api_key_env="CANARY_KEY"))
        reply = await model.complete(QUESTION, (), Sampling())
        await model.close()
        return reply

    with ChatServer(parrot, mishaps=[Mishap(kind)]) as server:
        reply = asyncio.run(scene(server))
    assert (reply.content, reply.thought, reply.tool_calls[0].arguments) == (
        "your key is [key]",
        "[key]",
        '{"key": "[key]"}',
    )
    assert "u0073" not in reply.raw.lower()
    assert reply.repairs == ("api_key_removed",)


PRINTABLE = st.text(
    st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='"\\|'),
    min_size=12,
    max_size=40,
)


@pytest.mark.slow
@given(key=PRINTABLE, before=st.text(max_size=5), depth=st.integers(1, 3), escaped=st.booleans())
def test_a_key_is_found_however_json_writes_it(
    key: str, before: str, depth: int, escaped: bool
) -> None:
    value: Any = f"{before}|{key}|"
    for _ in range(depth):
        value = json.dumps(value)
    if escaped:
        value = json.dumps(value).replace(
            json.dumps(key)[1:-1], "".join(f"\\u{ord(letter):04X}" for letter in key)
        )
    body = json.dumps({"content": value}).encode()
    decoded = json.loads(KeyRemover({MARK: key}).clean(body))["content"]
    for _ in range(depth + escaped):
        decoded = json.loads(decoded)
    assert key not in decoded
    assert decoded == f"{before}|[key]|"


def test_words_that_stand_for_no_key_are_not_taken_out_of_what_a_model_says() -> None:
    for word in ("EMPTY", "dummy", "password"):
        assert KeyRemover({MARK: word}).clean(word.encode()) == word.encode()
