"""A literal that looks like a key is refused wherever it stands in a flow, and never repeated; what
only resembles one passes.
"""

import json
import random
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

from synth.api.checks import audited
from synth.flows.environments import bindings_of
from synth.flows.own.flow_file import flow_of, override, read_settings, read_yaml
from synth.flows.resolve import resolve
from synth.keys import key_like
from synth.keys.looks import without_keys
from synth.models.settings import ModelSettings
from synth.schemas.errors import ConfigError
from synth.schemas.flow import Flow
from tests.flow_files import read_flow

DRAW = random.Random(20261122)


def letters(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(DRAW.choice(alphabet) for _ in range(count - 3)) + "4b7"


ISSUED = {
    "openai": lambda: f"sk-proj-{letters(40)}",
    "anthropic": lambda: f"sk-ant-api03-{letters(60)}",
    "github": lambda: f"ghp_{letters(36)}",
    "github fine": lambda: f"github_pat_{letters(59)}",
    "gitlab": lambda: f"glpat-{letters(20)}",
    "hugging face": lambda: f"hf_{letters(34)}",
    "slack": lambda: f"xoxb-{letters(12, string.digits)}-{letters(24)}",
    "aws": lambda: f"AKIA{letters(16, string.ascii_uppercase)[:13]}9Z7",
    "google": lambda: f"AIza{letters(35)}",
    "stripe": lambda: f"sk_live_{letters(24)}",
    "npm": lambda: f"npm_{letters(36)}",
    "jwt": lambda: f"eyJ{letters(20)}.eyJ{letters(30)}.{letters(20)}",
    "groq": lambda: f"gsk_{letters(50)}",
    "private key": lambda: f"-----BEGIN PRIVATE KEY-----\n{letters(64)}\n-----END PRIVATE KEY-----",
    "url": lambda: f"postgres://u:{letters(12)}@db/x",
    "bearer": lambda: f"Bearer {letters(30)}",
    "grafana": lambda: f"glsa_{letters(32)}",
    "docker": lambda: f"dckr_pat_{letters(27)}",
}
DRAWN = {
    "hex": lambda: letters(40, "0123456789abcdef"),
    "word": lambda: letters(32),
    "base64": lambda: letters(42) + "==",
}
NAMES = (
    "SHOP_TOKEN",
    "API_KEY",
    "shopApiKey",
    "DB_PASSWORD",
    "CLIENT_SECRET",
    "GITHUB_PAT",
    "MYSQL_PWD",
    "COOKIE",
    "AWS_SECRET_ACCESS_KEY",
)


def places(key: str) -> dict[str, dict[str, Any]]:
    """A flow for each place in which a key may stand."""
    return {
        "environment": {"env": {"name": "mcp", "environment": {"PLAIN": key}}},
        "command": {"env": {"name": "mcp", "command": ["server", key]}},
        "flag": {"env": {"name": "mcp", "command": ["server", f"--conf={key}"]}},
        "shell": {
            "env": {"name": "mcp", "command": ["sh", "-c", f"export A='{key}'; exec server"]}
        },
        "headers": {"models": {"explorer": {"model": "m", "headers": {"X-Auth": key}}}},
        "server_args": {"models": {"explorer": {"policy": "random", "server_args": ["--x", key]}}},
    }


def anywhere(key: str) -> dict[str, dict[str, Any]]:
    return {
        "prompt": {"env": {"name": "mcp", "system_prompt": f"Log in with {key} first."}},
        "nested": {"env": {"name": "mcp", "deep": [{"a": [[{"b": key}]]}]}},
        "role": {"models": {"explorer": {"policy": "random", "extra": {"c": key}}}},
        "stage": {"stages": [{"rollout": {"note": key}}]},
        "name": {"env": {"name": "mcp", "environment": {key: "x"}}},
    }


def check(flow: dict[str, Any], key: str) -> None:
    content = {"name": "f", **flow}
    with pytest.raises(ConfigError) as found:
        flow_of(json.loads(json.dumps(content)), (), "f.yaml")
    assert key not in str(found.value)
    assert "\n" not in str(found.value)
    assert "from_env" in str(found.value)
    with pytest.raises(ConfigError) as found:
        resolve(Flow.model_validate(content))
    assert key not in str(found.value)


@pytest.mark.parametrize("kind", [*ISSUED, *DRAWN])
def test_a_key_is_refused_in_what_a_process_is_started_with(kind: str) -> None:
    for _ in range(3):
        key = {**ISSUED, **DRAWN}[kind]()
        for flow in places(key).values():
            check(flow, key)


@pytest.mark.parametrize("kind", [one for one in ISSUED if one not in ("bearer",)])
def test_what_an_issuer_gave_out_is_refused_in_any_text(kind: str) -> None:
    for _ in range(2):
        key = ISSUED[kind]()
        for place, flow in anywhere(key).items():
            if not (place == "name" and kind in ("private key", "url")):
                check(flow, key)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_named_like_a_key_is_refused_whatever_it_looks_like(name: str) -> None:
    for value in ("correcthorsebattery", "hunter22x", "12345678", "pass word"):
        check({"env": {"name": "mcp", "environment": {name: value}}}, value)
    for command in (
        ["server", f"--{name.lower().replace('_', '-')}=correcthorse"],
        ["server", f"--{name}", "correcthorse"],
        ["env", f"{name}=correcthorse"],
    ):
        check({"env": {"name": "mcp", "command": command}}, "correcthorse")


HARMLESS: list[dict[str, Any]] = [
    {
        "PYTHONPATH": "/w/servers/python",
        "LANG": "C.UTF-8",
        "TOKENIZERS_PARALLELISM": "false",
        "MAX_TOKENS": "4096",
        "PRIMARY_KEY": "id",
    },
    {
        "GOOGLE_APPLICATION_CREDENTIALS": "/run/secrets/google.json",
        "NODE_OPTIONS": "--max-old-space-size=512",
        "DEBUG": "mcp:*",
    },
    {
        "API_URL": "http://127.0.0.1:8000/v1",
        "GIT_COMMIT": "0123456789abcdef0123456789abcdef01234567",
        "SHOP_TOKEN": {"from_env": "MY_TOKEN"},
    },
    {
        "SHOP_TOKEN": "",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TZ": "Europe/Berlin",
        "EOS_TOKEN": "</s>",
        "AUTH_MODE": "none",
    },
]
COMMANDS = [
    [
        "/usr/bin/python3",
        "-c",
        "from mcp_server_sqlite import main; main()",
        "--db-path",
        "/world/shop.db",
    ],
    ["node", "/srv/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", "/world"],
    [
        "npx",
        "-y",
        "@modelcontextprotocol/server-github@2025.4.8",
        "--header",
        "Authorization: Bearer ${TOKEN}",
    ],
    ["sh", "-c", 'exec server --token "$SHOP_TOKEN"'],
    [
        "docker",
        "run",
        "image@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
]


def test_what_is_no_key_passes() -> None:
    for variables in HARMLESS:
        assert list(key_like({"env": {"name": "mcp", "environment": variables}})) == []
    for command in COMMANDS:
        assert list(key_like({"env": {"name": "mcp", "command": command}})) == []
    flags = [
        "--max-model-len=16384",
        "--tool-call-parser=hermes",
        "--revision=0123456789abcdef0123456789abcdef01234567",
        "--rope",
        '{"factor": 2.0}',
    ]
    assert (
        list(
            key_like(
                {
                    "models": {
                        "a": {
                            "model": "Skywork/Skywork-R1V-38B",
                            "server_args": flags,
                            "api_key_env": "OPENAI_API_KEY",
                        }
                    }
                }
            )
        )
        == []
    )
    prompt = (
        "You are a clerk. Basic understanding of tokens is required. The password: ask the "
        "customer. See https://x.example/a?page=2"
    )
    assert (
        list(
            key_like(
                {
                    "env": {
                        "name": "mcp",
                        "system_prompt": prompt,
                        "masked": [r"\.[0-9a-f]{32}\.tmp"],
                    }
                }
            )
        )
        == []
    )


@pytest.mark.parametrize(
    "path",
    sorted(Path(__file__).parents[2].joinpath("configs").glob("*.yaml")),
    ids=lambda path: path.name,
)
def test_the_flows_that_come_along_pass(path: Path) -> None:
    assert list(key_like(yaml.safe_load(path.read_text()))) == []
    assert read_flow(path).name


def test_settings_from_the_command_line_and_from_python_are_looked_at_too() -> None:
    key = ISSUED["openai"]()
    for written in (
        f"environment.A={key}",
        f"command=[server, --token={key}]",
        f"environment.SHOP_TOKEN={{from_env: {key}}}",
    ):
        with pytest.raises(ConfigError) as found:
            audited("mcp", read_settings([written]), {}, bindings_of({}))
        assert key not in str(found.value)
    with pytest.raises(ConfigError) as found:
        ModelSettings(engine="vllm_local", model="m", server_args=("--api-key", key))
    assert key not in str(found.value)
    with pytest.raises(ConfigError) as found:
        override({"a": 1}, f"a.token={key}", read_yaml)
    assert key not in str(found.value)


def test_a_line_for_people_shows_no_key() -> None:
    for kind, draw in ISSUED.items():
        key = draw()
        if kind not in ("private key", "bearer"):
            shown = without_keys(f"synth: {key}: no such file; look at {key}")
            assert key.rpartition(":")[2].partition("@")[0] not in shown, kind
