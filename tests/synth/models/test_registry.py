import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from synth.models.admission import AdmittedChat
from synth.models.registry import open_model
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.model import ChatModel, Sampling
from tests.synth.models.chat_server import ChatServer
from tests.synth.models.scripted import ScriptedChat, says


def open_scripted(settings: ModelSettings) -> ChatModel:
    """An engine of a user's own."""
    return ScriptedChat([says("mine")], name=settings.model)


def test_a_model_opened_by_name_is_bounded_by_its_max_in_flight() -> None:
    async def scene(server: ChatServer) -> None:
        model = open_model(ModelSettings(base_url=server.url, model="m", max_in_flight=5))
        questions = [[{"role": "user", "content": str(number)}] for number in range(40)]
        await asyncio.gather(*(model.complete(question, (), Sampling()) for question in questions))
        await model.close()

    with ChatServer(latency_s=0.01) as server:
        asyncio.run(scene(server))
        assert server.counts()["peak_in_flight"] == 5


def test_a_model_can_be_opened_before_there_is_an_event_loop() -> None:
    with ChatServer() as server:
        model = open_model(ModelSettings(base_url=server.url, model="m"))

        async def scene() -> None:
            assert (await model.complete([], (), Sampling())).content is not None
            await model.close()

        asyncio.run(scene())


def test_an_engine_of_ones_own_is_named_by_module_and_attribute() -> None:
    model = open_model(ModelSettings(engine=f"{__name__}:open_scripted", model="m"))
    assert isinstance(model, AdmittedChat)
    assert asyncio.run(model.complete([], (), Sampling())).content == "mine"


@pytest.mark.parametrize(
    ("engine", "why"),
    [
        ("opnai", "known: openai"),
        ("no.such:thing", "cannot import"),
        ("synth.models:nothing", "has no nothing"),
    ],
)
def test_an_engine_that_does_not_exist_is_the_users_to_mend(engine: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        open_model(ModelSettings(engine=engine, model="m"))


def test_a_key_that_is_not_set_is_found_when_the_model_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        open_model(ModelSettings(model="m"))


def test_naming_engines_imports_none_of_them() -> None:
    code = (
        "import sys, synth.models.registry, synth.models.settings; print([m for m in "
        "('openai', 'aiohttp', 'httpx2') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.stdout.strip() == "[]"
