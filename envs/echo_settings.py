"""What echo is and says, and the settings of an episode."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from synth.envs.data_file import data_file
from synth.schemas import EnvSpec, ToolSchema

SPEC = EnvSpec(
    name="echo",
    version="1",
    licence="Apache-2.0",
    capabilities=frozenset({"affordances", "facts", "snapshot", "expert", "recheck", "tasks"}),
    memory_bytes=4096,
    facts={"said/*/text": "required", "session/*/finished": "required"},
    profiles=("stops_early", "stutters"),
)
TEXTS: Mapping[str, Any] = data_file("echo")
SYSTEM_PROMPT: str = TEXTS["system_prompt"]
WORDS: tuple[str, ...] = tuple(TEXTS["words"])
TOOLS: tuple[ToolSchema, ...] = tuple(TEXTS["tools"])


class EchoConfig(BaseModel):
    """Size of an episode (`turns` = words to echo), its weight, and planned trouble (turns count
    from 0).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    turns: int = Field(default=8, ge=1, le=1000)
    payload_bytes: int = Field(default=0, ge=0, le=1 << 20)
    step_ms: float = Field(default=0, ge=0, le=60_000)
    blocking_ms: float = Field(default=0, ge=0, le=10_000)
    fail_at_turn: int | None = None
    hang_at_turn: int | None = None
    drift_at_turn: int | None = None
    raise_in_check: bool = False
