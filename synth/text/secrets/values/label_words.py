"""Reads from the name of a value what it holds: a password, a token, something that may be secret,
or nothing of the kind.
"""

import re
from functools import lru_cache
from typing import Literal

from synth.text.secrets.values.words import listed

Label = Literal["password", "token", "phrase", "pin", "maybe"]

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\u00df-\u00ff]+|\d+|[A-Z]")
_PASSWORDS = tuple(listed("passwords"))
_TOKENS = tuple(listed("tokens"))
_ALONE = listed("alone")
_PHRASES = listed("phrases")
_KEY_OF = listed("key_of")
_NO_KEY_OF = listed("no_key_of")
_SUFFIXES = listed("suffixes")
_VENDORS = re.compile(
    r"(?i)adafruit|adobe|airtable|algolia|alibaba|amplitude|artifactory|asana|atlassian|auth0|azure|beamer|bitbucket|bitly|bittrex|bugsnag"
    r"|buildkite|circleci|cloudflare|cloudinary|codecov|cohere|coinbase|confluent|contentful|coveralls|datadog|deepgram|deepseek|discord"
    r"|docker|doppler|droneci|dropbox|elastic|etsy|facebook|fastly|figma|finicity|finnhub|firebase|flickr|freshbooks|gitter|gocardless"
    r"|grafana|heroku|honeycomb|hubspot|intercom|jfrog|jira|kraken|kucoin|launchdarkly|linear|linkedin|looker|lob|mailchimp|mailgun"
    r"|mapbox|mattermost|messagebird|mistral|mixpanel|netlify|newrelic|new_relic|notion|nytimes|okta|openai|opsgenie|pagerduty|paypal"
    r"|pinecone|plaid|posthog|rapidapi|razorpay|rollbar|salesforce|segment|sendbird|sentry|shopify|snyk|sonar|spotify|splunk|square"
    r"|statuspage|stripe|sumologic|supabase|telegram|together|travis|trello|twilio|twitch|twitter|typeform|vercel|weaviate|yandex|zendesk"
)


@lru_cache(maxsize=4096)
def label_of(name: str) -> Label | None:
    """What a name announces, by its last word: `DB_PASSWORD_2` a password, `token_count` and
    `key_id` nothing.
    """
    parts = [part.casefold() for part in _PARTS.findall(name)][-6:]
    while len(parts) > 1 and (parts[-1].isdigit() or parts[-1] in _SUFFIXES):
        parts.pop()
    if not parts:
        return None
    before, last = ("".join(parts[-2:-1]), parts[-1])
    pair = before + last
    if pair in ("passphrase", "motdepasse") or parts[-3:] == ["mot", "de", "passe"]:
        return "password"
    if last in _PHRASES or (pair == "recoverywords"):
        return "phrase"
    if last == "pin":
        return "pin"
    if (
        last.endswith(_PASSWORDS)
        or pair.endswith(("password", "passwd"))
        or last == "pw"
        or (last == "pass" and before)
    ):
        return "password"
    if last.endswith(_TOKENS) or pair.endswith(("apikey", "sessionid")):
        return "token"
    if last in ("key", "keys"):
        return _key_label(before)
    return (
        "maybe"
        if last in _ALONE or (_VENDORS.search(name) and last not in ("id", "url", "uri", "version"))
        else None
    )


def _key_label(before: str) -> Label | None:
    if before in _KEY_OF or before.endswith(("api", "access", "secret", "private")):
        return "token"
    return None if not before or before in _NO_KEY_OF else "maybe"
