"""Calls as families of models write them, after their published chat templates."""

import json
from collections.abc import Callable
from typing import Any

Write = Callable[[str, dict[str, Any]], str]


def tool(name: str, /, required: tuple[str, ...] = (), **kinds: str) -> dict[str, Any]:
    """A tool's schema; `kinds` are the types of its parameters."""
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


TOOLS = [
    tool("get_weather", ("city",), city="string", days="integer", options="object"),
    tool("search", ("query",), query="string"),
    tool("list_all"),
]


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def bare_text(value: Any) -> str:
    """As templates write values into tags: text as it is, all else as JSON."""
    return value if isinstance(value, str) else as_json(value)


def keywords(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in arguments.items())


def hermes(name: str, arguments: dict[str, Any]) -> str:
    call = f'{{"name": "{name}", "arguments": {as_json(arguments)}}}'
    return f"<tool_call>\n{call}\n</tool_call>"


def smollm(name: str, arguments: dict[str, Any]) -> str:
    return f'<tool_call>[{{"name": "{name}", "arguments": {as_json(arguments)}}}]</tool_call>'


def llama(name: str, arguments: dict[str, Any]) -> str:
    return f'{{"name": "{name}", "parameters": {as_json(arguments)}}}'


def llama_typed(name: str, arguments: dict[str, Any]) -> str:
    call = f'"type": "function", "name": "{name}", "parameters": {as_json(arguments)}'
    return f"{{{call}}}<|eot_id|>"


def openai(name: str, arguments: dict[str, Any]) -> str:
    function = {"name": name, "arguments": as_json(arguments)}
    return as_json({"id": "call_1", "type": "function", "function": function})


def python_tag(name: str, arguments: dict[str, Any]) -> str:
    return f"<|python_tag|>{llama(name, arguments)}<|eom_id|>"


def python_tag_call(name: str, arguments: dict[str, Any]) -> str:
    return f"<|python_tag|>{name}.call({keywords(arguments)})<|eom_id|>"


def mistral_list(name: str, arguments: dict[str, Any]) -> str:
    call = {"name": name, "arguments": arguments, "id": "9Ae3bDc2F"}
    return f"[TOOL_CALLS] [{as_json(call)}]</s>"


def mistral_named(name: str, arguments: dict[str, Any]) -> str:
    return f"[TOOL_CALLS]{name}[ARGS]{as_json(arguments)}"


def mistral_id(name: str, arguments: dict[str, Any]) -> str:
    return f"[TOOL_CALLS]{name}[CALL_ID]9Ae3bDc2F[ARGS]{as_json(arguments)}</s>"


def mistral_list_without_tokens(name: str, arguments: dict[str, Any]) -> str:
    return as_json([{"name": name, "arguments": arguments, "id": "9Ae3bDc2F"}])


def mistral_named_without_tokens(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}{as_json(arguments)}"


def deepseek_v3(name: str, arguments: dict[str, Any]) -> str:
    call = f"function<｜tool▁sep｜>{name}\n```json\n{as_json(arguments)}\n```"
    return (
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{call}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>"
    )


def deepseek_v31(name: str, arguments: dict[str, Any]) -> str:
    call = f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{as_json(arguments)}<｜tool▁call▁end｜>"
    return f"<｜tool▁calls▁begin｜>{call}<｜tool▁calls▁end｜>"


def kimi(name: str, arguments: dict[str, Any]) -> str:
    return (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{name}:0"
        f"<|tool_call_argument_begin|>{as_json(arguments)}<|tool_call_end|>"
        "<|tool_calls_section_end|>"
    )


def harmony(name: str, arguments: dict[str, Any]) -> str:
    return (
        "<|channel|>analysis<|message|>I should look <b>now</b>.<|end|><|start|>assistant"
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
        f"{as_json(arguments)}<|call|>"
    )


def harmony_recipient_first(name: str, arguments: dict[str, Any]) -> str:
    return (
        "<|channel|>analysis<|message|>I should look.<|end|><|start|>assistant "
        f"to=functions.{name}<|channel|>commentary json<|message|>{as_json(arguments)}<|call|>"
    )


def harmony_without_tokens(name: str, arguments: dict[str, Any]) -> str:
    return f"analysisI look.assistantcommentary to=functions.{name} json{as_json(arguments)}"


def glm(name: str, arguments: dict[str, Any]) -> str:
    pairs = (
        f"<arg_key>{key}</arg_key>\n<arg_value>{bare_text(value)}</arg_value>\n"
        for key, value in arguments.items()
    )
    return f"<tool_call>{name}\n{''.join(pairs)}</tool_call>"


def qwen_coder(name: str, arguments: dict[str, Any]) -> str:
    pairs = (
        f"<parameter={key}>\n{bare_text(value)}\n</parameter>\n" for key, value in arguments.items()
    )
    return f"<tool_call>\n<function={name}>\n{''.join(pairs)}</function>\n</tool_call>"


def llama_function(name: str, arguments: dict[str, Any]) -> str:
    return f"<function={name}>{as_json(arguments)}</function>"


def fenced(name: str, arguments: dict[str, Any]) -> str:
    call = {"name": name, "arguments": arguments}
    return f"```json\n{json.dumps(call, ensure_ascii=False, indent=2)}\n```"


def fenced_hermes(name: str, arguments: dict[str, Any]) -> str:
    return f"```xml\n{hermes(name, arguments)}\n```"


def react(name: str, arguments: dict[str, Any]) -> str:
    return f"Thought: It is time to look.\nAction: {name}\nAction Input: {as_json(arguments)}"


def react_blob(name: str, arguments: dict[str, Any]) -> str:
    blob = as_json({"action": name, "action_input": arguments})
    return f"Thought: It is time to look.\nAction:\n```json\n{blob}\n```"


def react_tau(name: str, arguments: dict[str, Any]) -> str:
    call = as_json({"name": name, "arguments": arguments})
    return f"Thought:\nIt is time to look.\nAction:\n{call}"


def pythonic(name: str, arguments: dict[str, Any]) -> str:
    return f"[{name}({keywords(arguments)})]"


def pythonic_tokens(name: str, arguments: dict[str, Any]) -> str:
    return f"<|python_start|>[{name}({keywords(arguments)})]<|python_end|>"


def gemma(name: str, arguments: dict[str, Any]) -> str:
    return f"```tool_code\n{name}({keywords(arguments)})\n```"


def gemma_printed(name: str, arguments: dict[str, Any]) -> str:
    return f"```tool_code\nprint(default_api.{name}({keywords(arguments)}))\n```"


def in_gemmas_quotes(value: Any, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        inside = (f"{key}:{in_gemmas_quotes(one, quote)}" for key, one in value.items())
        return f"{{{','.join(inside)}}}"
    if isinstance(value, list):
        return f"[{','.join(in_gemmas_quotes(one, quote) for one in value)}]"
    return as_json(value)


def quoted_by_gemma(name: str, arguments: dict[str, Any]) -> str:
    written = in_gemmas_quotes(arguments, '<|"|>')
    return f"<|tool_call>call:{name}{written}<tool_call|>"


def functiongemma(name: str, arguments: dict[str, Any]) -> str:
    written = in_gemmas_quotes(arguments, "<escape>")
    return f"<start_function_call>call:{name}{written}<end_function_call>"


def phi(name: str, arguments: dict[str, Any]) -> str:
    return f"functools{as_json([{'name': name, 'arguments': arguments}])}"


def nemotron(name: str, arguments: dict[str, Any]) -> str:
    return f"<TOOLCALL>{as_json([{'name': name, 'arguments': arguments}])}</TOOLCALL>"


def minimax(name: str, arguments: dict[str, Any]) -> str:
    pairs = (
        f'<parameter name="{key}">{bare_text(value)}</parameter>\n'
        for key, value in arguments.items()
    )
    block = f'<invoke name="{name}">\n{"".join(pairs)}</invoke>'
    return f"<minimax:tool_call>\n{block}\n</minimax:tool_call>"


def deepseek_v32(name: str, arguments: dict[str, Any]) -> str:
    pairs = (
        f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">'
        f"{bare_text(value)}</｜DSML｜parameter>\n"
        for key, value in arguments.items()
    )
    block = f'<｜DSML｜invoke name="{name}">\n{"".join(pairs)}</｜DSML｜invoke>'
    return f"<｜DSML｜function_calls>\n{block}\n</｜DSML｜function_calls>"


FORMS: dict[str, Write] = {
    form.__name__: form
    for form in (
        *(hermes, smollm, llama, llama_typed, openai, python_tag, python_tag_call),
        *(mistral_list, mistral_named, mistral_id),
        *(mistral_list_without_tokens, mistral_named_without_tokens),
        *(deepseek_v3, deepseek_v31, deepseek_v32, kimi, minimax),
        *(harmony, harmony_recipient_first, harmony_without_tokens),
        *(glm, qwen_coder, llama_function, fenced, fenced_hermes),
        *(react, react_blob, react_tau, pythonic, pythonic_tokens, gemma, phi, nemotron),
        *(gemma_printed, quoted_by_gemma, functiongemma),
    )
}
JSON_FORMS = {
    name: form
    for name, form in FORMS.items()
    if form not in (glm, qwen_coder, minimax, deepseek_v32, quoted_by_gemma, functiongemma)
}
"""Those whose values are written as JSON or Python has them, so that any text may stand in them."""
