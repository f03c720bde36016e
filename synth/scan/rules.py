"""What is looked for: kinds of secrets and of personal data, each by a pattern that RE2 can search and a test of what it found.

Tokens of services are those of detect-secrets (Apache-2.0) where its pattern is the token itself; the patterns without a library are
prefixes that their issuers publish.
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Literal

import msgspec

from synth.scan.checksums import is_address, is_card, is_iban, is_phone, is_public_ip, is_random, is_social_security_number

Group = Literal["secrets", "personal"]


class Rule(msgspec.Struct, frozen=True):
    """A kind, its group, a pattern, the part of a match that is the value (None = all of it), and whether the value counts."""

    kind: str
    group: Group
    pattern: str
    value: str | None = None
    valid: Callable[[str], bool] | None = None


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
"""More than 1,000 of something is too many for RE2; what follows the pattern takes in the rest anyway."""
_CASELESS = ("slack_token",)

_BODY = r"(?:[\sA-Za-z0-9+/=\\:,.]|-[A-Za-z0-9])*"
_VALUE = r"[^\s\"',;<>(){}\[\]\\]{8,200}"

OWN: tuple[Rule, ...] = (
    Rule(
        "private_key",
        "secrets",
        rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----{_BODY}(?:-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----)?",
    ),
    Rule("jwt", "secrets", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*"),
    Rule("anthropic_key", "secrets", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    Rule("api_key", "secrets", r"\bsk-[A-Za-z0-9_-]{20,}", valid=is_random),
    Rule("hugging_face_token", "secrets", r"\bhf_[A-Za-z0-9]{30,}"),
    Rule("google_api_key", "secrets", r"\bAIza[0-9A-Za-z_-]{35}"),
    Rule("google_oauth", "secrets", r"\b(?:GOCSPX-[0-9A-Za-z_-]{28}|ya29\.[0-9A-Za-z_-]{20,})"),
    Rule("github_token", "secrets", r"\bgithub_pat_[0-9A-Za-z_]{50,}"),
    Rule("slack_token", "secrets", r"\b(?:xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+|xoxe\.?[a-z-]*-[A-Za-z0-9-]{20,})"),
    Rule("npm_token", "secrets", r"\bnpm_[A-Za-z0-9]{36}"),
    Rule("digitalocean_token", "secrets", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    Rule("databricks_token", "secrets", r"\bdapi[a-f0-9]{32}"),
    Rule("groq_key", "secrets", r"\bgsk_[A-Za-z0-9]{40,}"),
    Rule("xai_key", "secrets", r"\bxai-[A-Za-z0-9]{60,}"),
    Rule("replicate_token", "secrets", r"\br8_[A-Za-z0-9]{30,}"),
    Rule("shopify_token", "secrets", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    Rule("stripe_key", "secrets", r"\bwhsec_[A-Za-z0-9]{32,}"),
    Rule("vault_token", "secrets", r"\bhvs\.[A-Za-z0-9_-]{24,}"),
    Rule(
        "url_password",
        "secrets",
        r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'<>{}\\]{1,80}:[^\s/@\"'<>{}\\]{3,80}@",
        r"(?<=:)[^:]+(?=@\Z)",
    ),
    Rule("bearer_token", "secrets", r"(?i)\bbearer\s{1,3}[a-z0-9._~+/-]{20,}=*", r"\S+\Z", is_random),
    Rule(
        "credential",
        "secrets",
        r"(?i)(?:api[_-]?key|access[_-]?key|secret(?:[_-]?key)?|auth[_-]?token|access[_-]?token|passw(?:or)?d|pwd)"
        rf"\\?[\"']?\s{{0,3}}(?::|=>?)\s{{0,3}}\\?[\"']?{_VALUE}",
        rf"{_VALUE}\Z",
        is_random,
    ),
    Rule("email", "personal", r"(?i)\b[a-z0-9][a-z0-9._%+-]{0,63}@(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}\b", valid=is_address),
    Rule(
        "phone",
        "personal",
        r"(?:\+\d{1,3}[ .-]?)?(?:\(\d{3}\)[ .-]?|\b\d{3}[ .-])\d{3}[ .-]\d{4}\b|\+\d{1,3}(?:[ .()-]{0,2}\d{2,5}){2,5}\b",
        valid=is_phone,
    ),
    Rule(
        "card_number",
        "personal",
        r"\b(?:\d{13,19}|\d{4}(?:[ -]\d{4}){2,3}(?:[ -]\d{1,4})?|\d{4}[ -]\d{6}[ -]\d{4,5})\b",
        valid=is_card,
    ),
    Rule("iban", "personal", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", valid=is_iban),
    Rule("social_security_number", "personal", r"\b\d{3}-\d{2}-\d{4}\b", valid=is_social_security_number),
    Rule("ip_address", "personal", r"\b(?:\d{1,3}\.){3}\d{1,3}\b", valid=is_public_ip),
)
UNASKED = frozenset({"ip_address"})
"""Looked for only where it is named: version numbers look the same."""


@cache
def rules() -> tuple[Rule, ...]:
    """All of them; imports detect-secrets."""
    found = []
    for kind, (module, name, count) in _OF_DETECT_SECRETS.items():
        patterns = getattr(import_module(f"detect_secrets.plugins.{module}"), name).denylist
        for pattern in list(patterns)[:count]:
            whole = _LARGE.sub(r"{\1,}", pattern.pattern.replace(r"(?!\w)", ""))
            flag = "(?i)" if kind in _CASELESS else ""
            found.append(Rule(kind, "secrets", rf"{flag}(?:{whole})[A-Za-z0-9_-]*"))
    return (*found, *OWN)
