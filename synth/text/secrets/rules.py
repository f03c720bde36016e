"""What is looked for: kinds of secrets and of personal data, each by a pattern that RE2 can search
and a test of what it found.

The patterns stand in secrets.yaml and the two files beside it. Tokens of some services are those of
detect-secrets (Apache-2.0) where its
pattern is the token itself.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Literal

import msgspec

from synth.text.secrets.values.judges import judge

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
        return None if self.test is None else judge(self.test)


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
"""The kind of what only its name, or a sentence about it, makes a secret
(`synth.text.secrets.contexts.labelled`).
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
    for rule in own:
        _ = rule.valid
    return (*found, *own)


def _read(name: str, sweep: str | None = None) -> list[Rule]:
    found = msgspec.yaml.decode(
        (files("synth.text.secrets") / name).read_bytes(), type=tuple[Rule, ...]
    )
    return [rule if sweep is None else msgspec.structs.replace(rule, sweep=sweep) for rule in found]
