"""The parsers of a model's family, by its name or by the form of its calls."""

import pytest

from synth.models.probing.parsers import families, parser_of_form, parsers_of
from synth.models.servers.http_chat import _parsers
from synth.text.calls.reading import read_calls
from tests.synth.text.calls.written import FORMS, TOOLS

CALLS = """
dots deepseek_v3 deepseek_v31 deepseek_v32 deepseek_v4 deepseek_v41 cohere_command3
cohere_command4 ernie45 glm45 glm47 ling3 granite granite4 hermes hf poolside_v1
hunyuan_a13b hy_v3 hy_v4 internlm jamba lfm2 kimi_k2 kimi_k3 k2_horizon llama3_json
llama4_json llama4_pythonic longcat mimo minimax_m2 minimax_m3 minicpm5 mistral olmo3
plamo3 muse_glimmer openai phi4_mini_json pythonic qwen3_coder qwen3_json qwen3_xml
seed_oss step3 step3p5 inkling xlam gigachat3 functiongemma gemma4 apertus
"""
THINKING = """
deepseek_r1 deepseek_v3 deepseek_v4 deepseek_v41 poolside_v1 cohere_command3
cohere_command4 ernie45 gemma4 glm45 glm47 ling3 openai_gptoss granite
granite_thinking_parser hf holo2 hunyuan_a13b hy_v3 hy_v4 kimi_k2 kimi_k3 k2_horizon mimo
minicpmv minimax_m2 minimax_m2_append_think minimax_m3 mistral nemotron_v3 olmo3 plamo3
muse_glimmer qwen3 seed_oss step3 step3p5 inkling
"""
"""The parsers of vLLM 0.32."""


def test_every_parser_is_one_of_vllms() -> None:
    assert {one.calls for one in families()} <= set(CALLS.split())
    assert {one.thinking for one in families()} <= {*THINKING.split(), None}


@pytest.mark.parametrize(
    ("model", "calls", "thinking"),
    [
        ("Qwen/Qwen3-8B", "hermes", "qwen3"),
        ("Qwen/Qwen3-4B-Instruct-2507", "hermes", None),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder", None),
        ("Qwen/Qwen2.5-7B-Instruct", "hermes", None),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3_json", None),
        ("meta-llama/Llama-3.2-3B-Instruct", "pythonic", None),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4_pythonic", None),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes", None),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral", None),
        ("mistralai/Magistral-Small-2509", "mistral", "mistral"),
        ("openai/gpt-oss-20b", "openai", "openai_gptoss"),
        ("zai-org/GLM-4.5-Air", "glm45", "glm45"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek_v3", "deepseek_r1"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "hermes", "deepseek_r1"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v31", "deepseek_v3"),
        ("ibm-granite/granite-3.3-8b-instruct", "granite", "granite"),
        ("moonshotai/Kimi-K2-Instruct", "kimi_k2", "kimi_k2"),
        ("google/gemma-4-12b-it", "gemma4", "gemma4"),
        ("google/functiongemma-270m-it", "functiongemma", None),
        ("stepfun-ai/Step-3.5-Flash", "step3p5", "step3p5"),
        ("stepfun-ai/step3", "step3", "step3"),
        ("deepseek-ai/DeepSeek-V4-Flash", "deepseek_v4", "deepseek_v4"),
    ],
)
def test_a_models_name_tells_its_family(model: str, calls: str, thinking: str | None) -> None:
    found = parsers_of(None, model)
    assert found is not None
    assert (found.calls, found.thinking) == (calls, thinking)


def test_a_name_that_tells_nothing_has_none() -> None:
    assert parsers_of("test-model", None) is None


@pytest.mark.parametrize(
    ("form", "parser"),
    [
        ("hermes", "hermes"),
        ("qwen_coder", "qwen3_coder"),
        ("glm", "glm45"),
        ("harmony", "openai"),
        ("mistral_named", "mistral"),
        ("pythonic", "pythonic"),
        ("python_tag", "llama3_json"),
        ("llama", "llama3_json"),
    ],
)
def test_the_form_of_a_call_tells_a_parser(form: str, parser: str) -> None:
    found = read_calls(FORMS[form]("search", {"query": "a"}), TOOLS)
    assert parser_of_form(found.repairs) == parser
    assert parser_of_form(()) is None


def test_a_server_of_our_own_is_started_with_the_parsers_that_the_settings_leave_open() -> None:
    auto = "--enable-auto-tool-choice"
    qwen = "Qwen/Qwen3-8B"
    assert _parsers(qwen, set()) == [
        auto,
        "--tool-call-parser=hermes",
        "--reasoning-parser=qwen3",
    ]
    assert _parsers(qwen, {"--tool-call-parser"}) == ["--reasoning-parser=qwen3"]
    assert _parsers(qwen, {"--reasoning-parser"}) == [auto, "--tool-call-parser=hermes"]
    assert _parsers("/models/mine", set()) == [auto, "--tool-call-parser=hermes"]
