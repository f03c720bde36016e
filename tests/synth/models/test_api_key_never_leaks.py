"""The key is looked for in everything that leaves the client: whole, by a walk over what errors hold, and in the logs."""

import asyncio
import gc
import io
import logging
import traceback
from typing import Any

import msgspec
import pytest

from schemas.model import ModelError, Sampling
from synth.models.openai_chat import OpenAIChat
from synth.models.openai_chat import open_model as open_transport
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.policies.chat import chat_policy
from tests.synth.models.chat_server import ChatServer, Mishap

KEY = "sk-leak-canary-4711"
QUESTION = [{"role": "user", "content": "hello"}]
KINDS = (
    *("unauthorized", "context_length", "bad_request", "status", "hang", "disconnect", "disconnect_before", "truncated_json"),
    *("malformed_json", "wrong_content_type", "empty_choices", "null_message"),
)


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", KEY)


def reachable(root: Any) -> str:
    """All text that hangs on an error: its attributes, causes and contexts, and whatever those hold."""
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


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("kind", KINDS)
def test_no_error_no_log_and_no_traceback_holds_the_key(kind: str) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)

    async def scene(server: ChatServer) -> ModelError:
        settings = ModelSettings(base_url=server.url, model="m", api_key_env="CANARY_KEY", max_retries=1, timeout_s=0.3)
        model = open_transport(settings, draw=lambda: 0.0)
        with pytest.raises(ModelError) as caught:
            await model.complete(QUESTION, (), Sampling())
        await model.close()
        return caught.value

    try:
        with ChatServer(mishaps=[Mishap(kind), Mishap(kind)]) as server:
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
def test_no_setting_identity_repr_or_reply_holds_the_key_even_where_the_server_repeats_it() -> None:
    def parrot(body: Any) -> dict[str, Any]:
        return {"role": "assistant", "content": f"your key is {KEY}"}

    async def scene(server: ChatServer) -> list[str]:
        settings = ModelSettings(base_url=server.url, model="m", api_key_env="CANARY_KEY")
        model = open_model(settings)
        reply = await model.complete(QUESTION, (), Sampling())
        spec = chat_policy({}, model_name=settings.model, sampling=msgspec.to_builtins(settings.sampling()))
        transport = open_transport(settings)
        await transport.close()
        await model.close()
        assert isinstance(transport, OpenAIChat)
        return [
            *(repr(thing) for thing in (settings, model, transport, reply, spec)),
            settings.model_dump_json(),
            msgspec.json.encode(reply).decode(),
            msgspec.json.encode([spec.identity, spec.sampling, spec.model]).decode(),
        ]

    with ChatServer(parrot) as server:
        texts = asyncio.run(scene(server))
    assert "your key is [key]" in texts[3]
    assert KEY not in "\n".join(texts)
