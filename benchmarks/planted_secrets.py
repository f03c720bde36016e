"""Secrets and personal data drawn at random, and the wrappings in which transcripts hold them; what
is found of them, and false alarms.

Run: `python -m benchmarks.planted_secrets` (false alarms on trajectories need ../shared/data)
"""

import base64
import json
import string
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from random import Random
from urllib.parse import quote

from benchmarks.false_alarms import Alarms
from benchmarks.figures import Figure, Report, Target, shown
from benchmarks.machine import CpuOfOthers
from benchmarks.planted_contexts import families, planted_in_context
from benchmarks.real_trajectories import DATA
from benchmarks.unplanted import (
    Unplanted,
    package_metadata,
    package_sources,
    real_texts,
    real_trajectories,
    standard_library,
)
from synth.schemas.trajectory import Trajectory
from synth.stats.intervals import clopper_pearson
from synth.text.layers import layers
from synth.text.secrets.finder import Finder, Span

_WORD = string.ascii_letters + string.digits
_LOWER = string.ascii_lowercase + string.digits
_HEX = "0123456789abcdef"


def _of(alphabet: str, rng: Random, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def _with_check_digit(digits: str) -> str:
    """Luhn."""
    doubled = [int(digit) * 2 - 9 * (int(digit) > 4) for digit in digits[::-2]]
    return digits + str(-(sum(doubled) + sum(int(digit) for digit in digits[-2::-2])) % 10)


def _address(rng: Random) -> str:
    name = f"{_of(_LOWER, rng, 8)}.{_of(_LOWER, rng, 5)}"
    host = _of(string.ascii_lowercase, rng, 9)
    return f"{name}@{host}.{rng.choice(('com', 'org', 'de'))}"


def _iban(rng: Random) -> str:
    account = _of(string.digits, rng, 18)
    check = 98 - int(account + str(int("D", 36)) + str(int("E", 36)) + "00") % 97
    return f"DE{check:02}{account}"


def _pem(rng: Random) -> str:
    body = "\n".join(_of(_WORD + "+/", rng, 64) for _ in range(6))
    return (
        f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n{_of(_WORD, rng, 20)}=\n-----END RSA "
        "PRIVATE KEY-----"
    )


def _jwt(rng: Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = (
        base64.urlsafe_b64encode(json.dumps({"sub": _of(_WORD, rng, 12)}).encode())
        .decode()
        .rstrip("=")
    )
    return f"{head}.{body}.{_of(_WORD + '_-', rng, 43)}"


VALUES: Mapping[str, Callable[[Random], str]] = {
    "private_key": _pem,
    "jwt": _jwt,
    "aws_access_key": lambda rng: f"AKIA{_of(string.ascii_uppercase + string.digits, rng, 16)}",
    "azure_storage_key": lambda rng: f"AccountKey={_of(_WORD + '+/', rng, 86)}==",
    "discord_token": lambda rng: (
        f"M{_of(_WORD, rng, 23)}.{_of(_WORD, rng, 6)}.{_of(_WORD, rng, 27)}"
    ),
    "github_token": lambda rng: rng.choice(
        (f"ghp_{_of(_WORD, rng, 36)}", f"github_pat_{_of(_WORD, rng, 22)}_{_of(_WORD, rng, 59)}")
    ),
    "gitlab_token": lambda rng: f"glpat-{_of(_WORD, rng, 20)}",
    "mailchimp_key": lambda rng: f"{_of(_HEX, rng, 32)}-us{rng.randint(1, 20)}",
    "openai_key": lambda rng: f"sk-proj-{_of(_WORD, rng, 20)}T3BlbkFJ{_of(_WORD, rng, 20)}",
    "anthropic_key": lambda rng: f"sk-ant-api03-{_of(_WORD + '_-', rng, 93)}AA",
    "api_key": lambda rng: f"sk-{_of(_WORD, rng, 44)}7k",
    "pypi_token": lambda rng: f"pypi-AgEIcHlwaS5vcmc{_of(_WORD + '_-', rng, 90)}",
    "sendgrid_key": lambda rng: f"SG.{_of(_WORD, rng, 22)}.{_of(_WORD, rng, 43)}",
    "slack_token": lambda rng: (
        f"xoxb-{rng.randint(10**11, 10**12)}-{rng.randint(10**11, 10**12)}-{_of(_WORD, rng, 24)}"
    ),
    "square_secret": lambda rng: f"sq0csp-{_of(_WORD, rng, 43)}",
    "stripe_key": lambda rng: f"sk_live_{_of(_WORD, rng, rng.choice((24, 99)))}",
    "telegram_token": lambda rng: f"{rng.randint(10**8, 10**9)}:AA{_of(_WORD + '_-', rng, 33)}",
    "twilio_key": lambda rng: f"SK{_of(_HEX, rng, 32)}",
    "hugging_face_token": lambda rng: f"hf_{_of(string.ascii_letters, rng, 34)}",
    "google_api_key": lambda rng: f"AIza{_of(_WORD + '_-', rng, 35)}",
    "google_oauth": lambda rng: f"GOCSPX-{_of(_WORD, rng, 28)}",
    "npm_token": lambda rng: f"npm_{_of(_WORD, rng, 36)}",
    "digitalocean_token": lambda rng: f"dop_v1_{_of(_HEX, rng, 64)}",
    "databricks_token": lambda rng: f"dapi{_of(_HEX, rng, 32)}",
    "groq_key": lambda rng: f"gsk_{_of(_WORD, rng, 52)}",
    "xai_key": lambda rng: f"xai-{_of(_WORD, rng, 80)}",
    "replicate_token": lambda rng: f"r8_{_of(_WORD, rng, 37)}",
    "shopify_token": lambda rng: f"shpat_{_of(_HEX, rng, 32)}",
    "vault_token": lambda rng: f"hvs.{_of(_WORD, rng, 90)}",
    "url_password": lambda rng: f"postgres://app:{_of(_WORD, rng, 14)}@db.internal:5432/main",
    "bearer_token": lambda rng: f"Bearer {_of(_WORD, rng, 38)}4k",
    "credential": lambda rng: f"password={_of(_WORD, rng, 12)}7w",
    "email": _address,
    "phone": lambda rng: rng.choice(("({}) {}-{}", "{}-{}-{}", "+1 {} {} {}")).format(
        rng.randint(201, 544), rng.randint(201, 544), rng.randint(1000, 9999)
    ),
    "card_number": lambda rng: _with_check_digit(f"4{_of(string.digits, rng, 14)}"),
    "iban": _iban,
    "social_security_number": lambda rng: (
        f"{rng.randint(1, 665):03}-{rng.randint(1, 99):02}-{rng.randint(1, 9999):04}"
    ),
}
"""Kind -> a value; what is secret in it is the last run of characters that `essence` gives."""


def essence(kind: str, value: str) -> str:
    """What must not be left anywhere: the password of a URL, the value of an assignment, else all
    of it.
    """
    if kind == "url_password":
        return value.split(":")[2].split("@")[0]
    if kind in ("credential", "bearer_token"):
        return value.replace("=", " ").split()[-1]
    return value


def _escaped(text: str) -> str:
    return "".join(char if char.isalnum() else f"\\u{ord(char):04x}" for char in text)


WRAPPINGS: Mapping[str, Callable[[str], str]] = {
    "plain": lambda value: f"Here it is: {value}",
    "sentence": lambda value: f"It was {value}, as you asked; nothing else.",
    "first line": lambda value: f"{value}\nand more",
    "json": lambda value: json.dumps({"note": f"kept\n{value}", "n": 1}),
    "json value": lambda value: json.dumps({"value": value, "list": [value, 2]}),
    "json in json": lambda value: json.dumps({"result": json.dumps({"note": f"line\t{value}"})}),
    "escaped characters": lambda value: f'{{"value": "{_escaped(value)}"}}',
    "url": lambda value: f"https://host.example/find?q={quote(value, safe='')}&page=2",
    "base64": lambda value: f"payload {base64.b64encode(f'found {value} there'.encode()).decode()}",
}


def planted(seed: int, values: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """(kind, wrapping, secret, text) for every kind in every wrapping."""
    rng = Random(seed)
    for kind, draw in VALUES.items():
        for wrapping, wrap in WRAPPINGS.items():
            for _ in range(values):
                value = draw(rng)
                yield kind, wrapping, essence(kind, value), wrap(value)


def left_of(finder: Finder, text: str, secret: str) -> bool:
    """Whether what remains of a text without its findings still holds eight characters of the
    secret in a row, in any reading.
    """
    clean = list(text)
    for span in reversed(finder.found(text)):
        clean[span.start : span.end] = "\0"
    shortest = min(8, len(secret))
    pieces = {secret[at : at + shortest] for at in range(len(secret) - shortest + 1)}
    return any(piece in layer.text for layer in layers("".join(clean)) for piece in pieces)


def recall(finder: Finder, seed: int, each: int = 10) -> tuple[dict[str, int], int]:
    """How many of each family were found, and how many of each were planted."""
    found = dict.fromkeys(families(), 0)
    for family, _, secret, text in planted_in_context(seed, each):
        found[family] += not left_of(finder, text, secret)
    return found, each


def harmless(seed: int, count: int = 400) -> Iterator[tuple[str, str]]:
    """(source, text) of what only looks like a secret: digests, UUIDs, floats, pictures, numbers,
    code.
    """
    rng = Random(seed)
    for _ in range(count):
        digest = _of(_HEX, rng, rng.choice((32, 40, 64, 128)))
        uuid = "-".join(_of(_HEX, rng, length) for length in (8, 4, 4, 4, 12))
        number = rng.random() * 10 ** rng.randint(-3, 6)
        yield (
            "digests",
            f"commit {digest}\nsha256:{_of(_HEX, rng, 64)}\n{digest}  "
            f"archive.tar.gz\n--hash=sha256:{digest}",
        )
        yield (
            "subresource integrity",
            f'"integrity": "sha512-{_of(_WORD + "+/", rng, 86)}==", "resolved": '
            '"https://registry.example/a.tgz"',
        )
        yield "UUIDs", f'{{"id": "{uuid}", "request_id": "{uuid}"}} {uuid}'
        yield (
            "floats",
            f"loss {number!r} accuracy 0.{_of('12345', rng, 16)} [{rng.gauss(0, 1)!r}, "
            f"{rng.uniform(-1, 1) * 1e12!r}]",
        )
        yield (
            "pictures",
            f"![p](data:image/png;base64,{base64.b64encode(rng.randbytes(600)).decode()})",
        )
        yield (
            "numbers",
            f"order #W{_of(string.digits, rng, 7)}, ISBN 978-3-16-{_of(string.digits, rng, 6)}-0, "
            f"at {rng.randint(10**9, 2 * 10**9)}",
        )


def false_alarms(finder: Finder, trajectories: list[Trajectory]) -> Iterator[Alarms]:
    """What is found in what was drawn, in real trajectories, the standard library and packages."""
    drawn = [Unplanted(source, str(at), "", text) for at, (source, text) in enumerate(harmless(3))]
    found = {one.source: Alarms(one.source, drawn=True) for one in drawn}
    read: dict[str, list[Span]] = {}
    for one in chain(
        drawn, real_texts(trajectories), standard_library(), package_sources(), package_metadata()
    ):
        if one.text not in read:
            read[one.text] = finder.found(one.text)
        found.setdefault(one.source, Alarms(one.source, drawn=False)).add(one, read[one.text])
    yield from found.values()


def measure(seed: int = 4, each: int = 10) -> Report:
    """Recall in context by family, and findings where nothing was planted."""
    finder = Finder()
    found, of = recall(finder, seed, each)
    print(f"| family | found of {of} |\n|---|---|")
    for family, times in found.items():
        print(f"| {family} | {times} |")
    total, planted_count = sum(found.values()), of * len(found)
    low, high = clopper_pearson(total, planted_count)
    figures = [
        Figure("families", len(found)),
        Figure(
            "families with 9 of 10 or more",
            sum(times >= 0.9 * of for times in found.values()),
            "",
            Target("at least", len(found) - 1),
        ),
        Figure("planted", planted_count),
        Figure("found", 100 * total / planted_count, "%"),
        Figure("found, 95 % interval from", 100 * low, "%"),
        Figure("found, 95 % interval to", 100 * high, "%"),
    ]
    trajectories = real_trajectories() if DATA.is_dir() else []
    for alarms in false_alarms(finder, trajectories):
        print(*alarms.report(sum(len(one.turns) for one in trajectories)), sep="\n")
        figures += alarms.figures()
    return Report(
        "Planted secrets",
        tuple(figures),
        f"{each} of each family, each in the next of 8 or 10 contexts, seed {seed}.",
    )


if __name__ == "__main__":
    others = CpuOfOthers()
    sys.exit(shown(measure(), others))
