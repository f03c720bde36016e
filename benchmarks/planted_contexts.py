"""Secrets drawn by their forms, and the contexts in which runs hold them: settings, tool arguments,
headers, code, logs, sentences.
"""

import base64
import json
import re
import string
from collections.abc import Callable, Iterator, Mapping
from random import Random

from benchmarks.planted_forms import LABELLED, STATEMENTS

_WORD = string.ascii_letters + string.digits
_ALPHABETS = {
    "w": _WORD,
    "h": "0123456789abcdef",
    "l": string.ascii_lowercase + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "s": string.ascii_letters,
    "a": string.ascii_lowercase,
    "d": string.digits,
    "b": _WORD + "+/",
    "x": string.ascii_uppercase + "234567",
    "z": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
    "p": _WORD + "!#%*-_+?",
}
_NOUNS = (
    "amber anvil basket beacon birch bottle bramble button cabin candle canyon cherry "
    "cobalt copper cradle desert dolphin ember falcon feather ferry fiddle garlic ginger "
    "glacier hammer harbor hazel island ivory jacket juniper kettle ladder lagoon lantern "
    "lemon magnet maple meadow mirror mitten nectar nickel oyster paddle pebble pepper "
    "pillow planet pocket prairie puzzle quartz rabbit raven ribbon rocket saddle salmon "
    "scarlet shovel silver spider spruce summit sunset tangle thimble thunder timber "
    "tulip turtle velvet violin walnut willow winter wizard yellow zephyr"
)
_WORDS = sorted(_NOUNS.split())
_DRAWN = re.compile(r"\{(\w)(\d+)\}|\{(k|basic)\}")


def drawn(form: str, rng: Random) -> str:
    """A form with every part drawn."""

    def part(match: re.Match[str]) -> str:
        letter, count, name = match.groups()
        if name == "k":
            return rng.choice(_WORDS)
        if name == "basic":
            pair = f"{rng.choice(_WORDS)}:{''.join(rng.choices(_WORD, k=14))}"
            return base64.b64encode(pair.encode()).decode()
        return "".join(rng.choices(_ALPHABETS[letter], k=int(count)))

    return _DRAWN.sub(part, form).replace("{{", "{").replace("}}", "}")


LABEL_CONTEXTS: Mapping[str, Callable[[str, str], str]] = {
    "env line": lambda name, value: f"HOME=/root\nexport {name}={value}\nLANG=C",
    "JSON argument": lambda name, value: json.dumps({"path": "/tmp/a", name: value, "mode": 2}),
    "header in curl": lambda name, value: (
        f"curl -s -H '{name.replace('_', '-')}: {value}' https://api.host.io/v1"
    ),
    "prose": lambda name, value: (
        f"Please use {value} as the {name.replace('_', ' ').lower()} from now on."
    ),
    "YAML": lambda name, value: f"service:\n  {name}: {value}\n  replicas: 2\n",
    "Python": lambda name, value: f"import os\n{name} = {value!r}\nclient = Client({name})\n",
    "log line": lambda name, value: (
        f"2026-03-01 12:00:01 DEBUG connect host=db {name}={value} retries=3"
    ),
    "JSON in JSON": lambda name, value: json.dumps(
        {"result": json.dumps({"stdout": f'{{"{name}": "{value}"}}\n'})}
    ),
    "TOML": lambda name, value: f'[service]\n{name} = "{value}"\n',
    "XML": lambda name, value: f"<config><{name}>{value}</{name}></config>",
}
STATEMENT_CONTEXTS: Mapping[str, Callable[[str], str]] = {
    "alone": lambda said: said,
    "JSON argument": lambda said: json.dumps({"command": said, "timeout": 30}),
    "prose": lambda said: f"I ran this earlier:\n{said}\nand it worked.",
    "YAML": lambda said: "run: |\n  " + said.replace("\n", "\n  ") + "\n",
    "Python": lambda said: f"text = {said!r}\nrun(text)\n",
    "log line": lambda said: (
        f"2026-03-01 12:00:01 INFO sent: {said}\n2026-03-01 12:00:02 INFO done"
    ),
    "JSON in JSON": lambda said: json.dumps(
        {"result": json.dumps({"stdout": said + "\n", "code": 0})}
    ),
    "Markdown": lambda said: f"Result:\n```\n{said}\n```\n",
}


def families() -> list[str]:
    """All of them."""
    return [*LABELLED, *STATEMENTS]


def planted_in_context(seed: int, each: int = 10) -> Iterator[tuple[str, str, str, str]]:
    """(family, context, secret, text), `each` of every family, each in the next context."""
    for family, (name, form) in LABELLED.items():
        rng = Random(f"{seed} {family}")
        for at in range(each):
            context = list(LABEL_CONTEXTS)[at % len(LABEL_CONTEXTS)]
            value = drawn(form, rng)
            yield family, context, value, LABEL_CONTEXTS[context](name, value)
    for family, form in STATEMENTS.items():
        rng = Random(f"{seed} {family}")
        for at in range(each):
            context = list(STATEMENT_CONTEXTS)[at % len(STATEMENT_CONTEXTS)]
            said = drawn(form, rng)
            secret = said[said.index("«") + 1 : said.index("»")]
            yield (
                family,
                context,
                secret,
                STATEMENT_CONTEXTS[context](said.replace("«", "").replace("»", "")),
            )
