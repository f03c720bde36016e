"""What families of models put around an answer in JSON, or write in its place."""

import itertools
import json
from typing import Any

import yaml


def python(answer: Any) -> str:
    return repr(answer)


def strict(answer: Any) -> str:
    return json.dumps(answer)


def with_comma(answer: Any) -> str:
    return json.dumps(answer, indent=2)[:-2] + ",\n}"


def capital_keys(answer: Any) -> str:
    return json.dumps({key.replace("_", " ").title(): value for key, value in answer.items()})


def bare_keys(answer: Any) -> str:
    return "{" + ", ".join(f"{key}: {json.dumps(one)}" for key, one in answer.items()) + "}"


def commented(answer: Any) -> str:
    return json.dumps(answer, indent=1).replace("{\n", "{ // my answer\n", 1)


def unclosed(answer: Any) -> str:
    return json.dumps(answer)[:-1]


def numbers_as_text(answer: Any) -> str:
    def text(value: Any) -> Any:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        return f"step {value}" if is_number else value

    return json.dumps({key: text(value) for key, value in answer.items()})


def in_yaml(answer: Any) -> str:
    return str(yaml.safe_dump(answer, sort_keys=False))


def curly_quotes(answer: Any) -> str:
    opened = itertools.cycle("“”")
    return "".join(next(opened) if sign == '"' else sign for sign in strict(answer))


def block_comments(answer: Any) -> str:
    return (
        "/* mine */ {"
        + ", /* next */ ".join(strict({k: v})[1:-1] for k, v in answer.items())
        + ",}"
    )


def written(value: Any, signs: str, quotes: str) -> str:
    """JSON with these signs in the places of `{}[]:,`, and these quotes."""
    opens, closes, first, last, colon, comma = signs
    if isinstance(value, dict):
        inside = (
            f"{written(key, signs, quotes)}{colon}{written(one, signs, quotes)}"
            for key, one in value.items()
        )
        return f"{opens}{comma.join(inside)}{closes}"
    if isinstance(value, list):
        return f"{first}{comma.join(written(one, signs, quotes) for one in value)}{last}"
    if isinstance(value, str):
        return f"{quotes[0]}{json.dumps(value, ensure_ascii=False)[1:-1]}{quotes[1]}"
    return json.dumps(value)


def full_width(answer: Any) -> str:
    return written(answer, "｛｝［］：，", "“”")


def lines_in_full_width(answer: Any) -> str:
    return "\n".join(f"{key}：{strict(one)}" for key, one in answer.items())


def table(answer: Any) -> str:
    rows = [f"| **{key}** | {strict(one)} |" for key, one in answer.items()]
    return "\n".join(["Here you are:", "", "| field | value |", "|---|---|", *rows])


def under_a_head(answer: Any) -> str:
    cells = (answer.keys(), ("---" for _ in answer), map(strict, answer.values()))
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def other(answer: Any) -> Any:
    """An answer of the same form that says something else."""
    texts = (key for key, value in answer.items() if isinstance(value, str))
    key = next(texts, "lines")
    return {**answer, key: ["other"] if key == "lines" else "other"}


def bold_lines(answer: Any) -> str:
    return "\n".join(f"- **{key}**: {strict(one)}" for key, one in answer.items())


THOUGHTS = {
    "seed-oss": "<seed:think>hm {x}</seed:think>",
    "thinking": '<thinking>hm {"a": 1}</thinking>',
    "reasoning": "<reasoning>hm</reasoning>",
    "thought": "<thought>hm {x}</thought>",
    "kimi": "◁think▷hm {x}◁/think▷",
    "command-a": "<|START_THINKING|>hm {x}<|END_THINKING|><|START_RESPONSE|>",
    "gemma": "<|channel>thought\nhm {x}<channel|>",
    "granite": "Here is my thought process:\nhm\nHere is my response:\n",
}
READ = {
    "json": strict,
    "indented": lambda answer: json.dumps(answer, indent=4, ensure_ascii=False),
    "fenced": lambda answer: f"```json\n{json.dumps(answer, indent=2)}\n```",
    "prose around": lambda answer: f"Sure! Here it is:\n\n{strict(answer)}\n\nI hope it helps.",
    "qwen, deepseek r1": lambda answer: f"<think>\nA {{draft}}: {{}}\n</think>\n\n{strict(answer)}",
    "thinking opened by the template": lambda answer: f"So, hm.\n</think>\n{strict(answer)}",
    "magistral": lambda answer: f"[THINK]hm[/THINK]{strict(answer)}",
    "gpt-oss": lambda answer: (
        "<|channel|>analysis<|message|>A {draft}.<|end|><|start|>assistant<|channel|>final"
        f"<|message|>{strict(answer)}<|return|>"
    ),
    "a draft in thinking": lambda answer: (
        f"<think>{strict({key: None for key in answer})}</think>{strict(answer)}"
    ),
    "a list of one": lambda answer: f"[{strict(answer)}]",
    "wrapped": lambda answer: json.dumps({"answer": answer}),
    "trailing comma": with_comma,
    "python": python,
    "capital keys": capital_keys,
    "bare keys": bare_keys,
    "comments": commented,
    "missing brace": unclosed,
    "step N": numbers_as_text,
    "yaml": in_yaml,
    "fenced yaml": lambda answer: f"```yaml\n{in_yaml(answer)}```",
    "markdown table": table,
    "a table under a head": under_a_head,
    "bold lines": bold_lines,
    "curly quotes": curly_quotes,
    "block comments": block_comments,
    "full width": full_width,
    "full width around latin quotes": lambda answer: written(answer, "{}[]：，", '""'),
    "full-width commas": lambda answer: written(answer, "{}[]:，", '""'),
    "corner quotes": lambda answer: written(answer, "{}[]：、", "「」"),
    "full-width quotes": lambda answer: f"好的：\n{written(answer, '｛｝[]：,', '＂＂')}\n以上。",
    "lines in full width": lines_in_full_width,
    "byte order mark": lambda answer: f"\ufeff{strict(answer)}",
    "another object first": lambda answer: f'So: {{"foo": 1}}. Better: {strict(answer)}',
    "an empty one first": lambda answer: f"{{}}\n{strict(answer)}",
    "the same twice": lambda answer: f"{strict(answer)}\n{json.dumps(answer, indent=2)}",
    "response": lambda answer: json.dumps({"response": [answer], "confidence": 0.9}),
    "wrapped twice": lambda answer: json.dumps({"result": {"answer": answer}}),
    "a schema's echo": lambda answer: json.dumps({"type": "object", "properties": answer}),
    "a call": lambda answer: (
        f"<tool_call>{json.dumps({'name': 'answer', 'arguments': answer})}</tool_call>"
    ),
    "a call of text": lambda answer: json.dumps({"name": "answer", "arguments": strict(answer)}),
    "a text of json": lambda answer: json.dumps(strict(answer)),
    "escaped": lambda answer: json.dumps(strict(answer))[1:-1],
    "an end token": lambda answer: f"{strict(answer)}<|im_end|>",
    "an unclosed fence": lambda answer: f"```json\n{strict(answer)}",
    **{
        f"thinking of {name}": (lambda said: lambda answer: f"{said}{strict(answer)}")(thought)
        for name, thought in THOUGHTS.items()
    },
}
MENDED = {"trailing comma", "python", "bare keys", "comments", "missing brace"}
MENDED |= {"curly quotes", "block comments", "full width", "full width around latin quotes"}
MENDED |= {"full-width commas", "corner quotes", "full-width quotes"}
NOT_READ = {
    "words only": lambda answer: "It went wrong, I would say.",
    "nothing": lambda answer: "",
    "an empty object": lambda answer: "{}",
    "half of it": lambda answer: strict(answer)[: len(strict(answer)) // 2],
    "other keys": lambda answer: '{"foo": 1}',
    "thinking only": lambda answer: f"<think>{strict(answer)}",
    "cut off behind a member": lambda answer: strict(dict(list(answer.items())[:-1]))[:-1],
    "cut off behind a comma": lambda answer: strict(dict(list(answer.items())[:-1]))[:-1] + ", ",
    "cut off in the last text": lambda answer: json.dumps(
        {**dict(list(answer.items())[:-1]), "zz": "It goes on"}, indent=2
    )[:-4],
    "full width, cut off behind a member": lambda answer: full_width(
        dict(list(answer.items())[:-1])
    )[:-1],
    "half of it in full width": lambda answer: full_width(answer)[: len(full_width(answer)) // 2],
    "lines in full width without the last": lambda answer: lines_in_full_width(
        dict(list(answer.items())[:-1])
    ),
    "cut off yaml": lambda answer: in_yaml(dict(list(answer.items())[:-1])),
    "a table without its end": lambda answer: table(dict(list(answer.items())[:-1])),
    "a name that stands twice": lambda answer: (
        f"{bold_lines(answer)}\n{bold_lines(dict(list(answer.items())[:1]))}"
    ),
    "two readings": lambda answer: (
        f"Reading A:\n{strict(answer)}\n\nReading B:\n{strict(other(answer))}"
    ),
    "taken back": lambda answer: f"{strict(answer)}\n\nWait, that was not what they asked for.",
    "a schema": lambda answer: json.dumps(
        {"type": "object", "properties": {key: {"type": "string"} for key in answer}}
    ),
}
