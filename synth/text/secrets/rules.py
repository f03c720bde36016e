"""What is looked for: kinds of secrets and of personal data, each by a pattern that RE2 can search
and a test of what it found.

The patterns stand in secrets.yaml and the two files beside it. Tokens of some services are those of
detect-secrets (Apache-2.0) where its
pattern is the token itself.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Literal

import msgspec

from synth.text.secrets import checksums
from synth.text.secrets.values import credentials, told_values
from synth.text.secrets.values.randomness import is_placeholder, is_random
from synth.text.secrets.values.unnamed import is_drawn

Group = Literal["secrets", "personal"]


class Rule(msgspec.Struct, frozen=True):
    """A kind, its group, a pattern, the part of a match that is the value (None = all of it), and
    whether the value counts.

    A value that must stand `alone` touches no letter and no digit, not even across a point or a
    hyphen.
    """

    kind: str
    pattern: str
    group: Group = "secrets"
    value: str | None = None
    test: str | None = None
    alone: bool = False
    sweep: str = "issued"
    """Patterns of one sweep are searched in one pass; all in one pass would have too many states.
    `runs` counts repeats.
    """

    @property
    def valid(self) -> Callable[[str], bool] | None:
        return None if self.test is None else TESTS[self.test]


TESTS: Mapping[str, Callable[[str], bool]] = {
    "address": checksums.is_address,
    "authorizing": credentials.is_authorizing,
    "bare_aws_secret": credentials.is_bare_aws_secret,
    "card": checksums.is_card,
    "community": credentials.is_community,
    "cookie": credentials.is_cookie_value,
    "device_password": credentials.is_device_password,
    "digits": lambda text: any(char.isdigit() for char in text) and not is_placeholder(text),
    "beside_user": told_values.is_beside_user,
    "drawn_code": told_values.is_drawn_code,
    "key_bytes": told_values.is_key_bytes,
    "nine_digits": told_values.is_nine_digits,
    "stored_value": told_values.is_stored_value,
    "capitals": told_values.is_capitals,
    "chosen_pin": told_values.is_chosen_pin,
    "code_of_groups": told_values.is_code_of_groups,
    "drawn_strictly": is_drawn,
    "drawn_words": told_values.is_drawn_words,
    "encoded": credentials.is_encoded_login,
    "four_groups": told_values.is_four_groups,
    "given_words": credentials.is_given_words,
    "grouped": credentials.is_grouped_key,
    "wire": credentials.is_wire_password,
    "drawn": lambda text: is_random(text, 16) and any(char.isdigit() for char in text),
    "given": credentials.is_given,
    "link_key": told_values.is_link_key,
    "passed": told_values.is_passed,
    "printed_key": told_values.is_printed_key,
    "six_digits": told_values.is_six_digits,
    "typed_password": told_values.is_typed_password,
    "iban": checksums.is_iban,
    "mixed": credentials.is_mixed,
    "mixed_password": credentials.is_mixed_password,
    "password": credentials.is_password,
    "phone": checksums.is_phone,
    "phrase": credentials.is_phrase,
    "present": lambda text: not is_placeholder(text),
    "public_ip": checksums.is_public_ip,
    "random": is_random,
    "slashed_password": lambda text: "/" in text and credentials.is_mixed_password(text),
    "social_security_number": checksums.is_social_security_number,
    "shown_value": credentials.is_shown_value,
    "signed_key": credentials.is_signed_key,
    "told_beside_user": credentials.is_told_beside_user,
    "told_password": credentials.is_told_password,
    "url_password": credentials.is_url_password,
    "user_and_password": credentials.is_user_and_password,
    "words": credentials.is_seed_phrase,
}
"""The names that secrets.yaml gives to tests of values."""

_OF_DETECT_SECRETS = {
    "aws_access_key": ("aws", "AWSKeyDetector", 1),
    "azure_storage_key": ("azure_storage_key", "AzureStorageKeyDetector", 1),
    "discord_token": ("discord", "DiscordBotTokenDetector", 1),
    "github_token": ("github_token", "GitHubTokenDetector", 1),
    "gitlab_token": ("gitlab_token", "GitLabTokenDetector", 7),
    "mailchimp_key": ("mailchimp", "MailchimpDetector", 1),
    "openai_key": ("openai", "OpenAIDetector", 1),
    "pypi_token": ("pypi_token", "PypiTokenDetector", 2),
    "sendgrid_key": ("sendgrid", "SendGridDetector", 1),
    "slack_token": ("slack", "SlackDetector", 2),
    "square_secret": ("square_oauth", "SquareOAuthDetector", 1),
    "stripe_key": ("stripe", "StripeDetector", 1),
    "telegram_token": ("telegram_token", "TelegramBotTokenDetector", 1),
    "twilio_key": ("twilio", "TwilioKeyDetector", 2),
}
"""Kind -> module, detector, and how many of its patterns are the token itself."""
_LARGE = re.compile(r"\{(\d+),\d{4,}\}")
"""More than 1,000 of something is too many for RE2; what follows the pattern takes in the rest
anyway.
"""
_CASELESS = ("slack_token",)
CREDENTIAL = "credential"
"""The kind of what only its name, or a sentence about it, makes a secret (`synth.text.secrets.contexts.labelled`).
"""
UNASKED = frozenset({"ip_address"})
"""Looked for only where it is named: version numbers look the same."""


@cache
def rules() -> tuple[Rule, ...]:
    """All of them; imports detect-secrets. Raises `ValueError` where secrets.yaml names a test that
    there is not.
    """
    found = []
    for kind, (module, name, count) in _OF_DETECT_SECRETS.items():
        patterns = getattr(import_module(f"detect_secrets.plugins.{module}"), name).denylist
        for pattern in list(patterns)[:count]:
            whole = _LARGE.sub(r"{\1,}", pattern.pattern.replace(r"(?!\w)", ""))
            flag = "(?i)" if kind in _CASELESS else ""
            found.append(Rule(kind, rf"{flag}(?:{whole})[A-Za-z0-9_-]*"))
    own = [
        *_read("secrets.yaml"),
        *_read("placed_secrets.yaml", "placed"),
        *_read("told_secrets.yaml", "told"),
    ]
    unknown = [rule.test for rule in own if rule.test not in (None, *TESTS)]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no test of a value; known: {', '.join(TESTS)}")
    return (*found, *own)


def _read(name: str, sweep: str | None = None) -> list[Rule]:
    found = msgspec.yaml.decode(
        (files("synth.text.secrets") / name).read_bytes(), type=tuple[Rule, ...]
    )
    return [rule if sweep is None else msgspec.structs.replace(rule, sweep=sweep) for rule in found]
