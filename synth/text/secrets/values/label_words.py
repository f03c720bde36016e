"""Reads from the name of a value what it holds: a password, a token, something that may be secret,
or nothing of the kind.
"""

import re
from functools import lru_cache
from typing import Literal

from synth.text.secrets.values.randomness import words

Label = Literal["password", "token", "phrase", "pin", "maybe"]

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z\u00df-\u00ff]+|\d+|[A-Z]")
_PASSWORDS = (
    "password", "passwd", "passphrase", "passcode", "passwort", "kennwort", "contraseña", "contrasena", "motdepasse", "mdp", "senha",
    "wachtwoord", "pwd", "passwrd", "userpass", "psk", "presharedkey", "sshpass", "rootpass", "mysqlpass", "adminpass",
    "smtppass", "mailpass", "ftppass", "wifipass", "keypass", "storepass", "authpass", "bindpass", "loginpass", "bindpw",
    "rootpw", "userpw", "dbpass", "requirepass", "masterauth",
)  # fmt: skip
_TOKENS = (
    "token", "secret", "apikey", "accesskey", "secretkey", "privatekey", "authkey", "credential", "credentials", "creds", "authorization",
    "jwt", "sessionid", "sessid", "sessionkey", "cookie", "cookies", "passkey", "bearer", "psk", "presharedkey", "otp", "pat", "hmac",
    "jsessionid", "connectsid", "clientkey", "signingkey", "appkey",
)  # fmt: skip
_ALONE = frozenset(
    {"auth", "session", "sid", "csrf", "xsrf", "sig", "appid", "webhook", "authtoken"}
)
"""Tokens where a whole word of the name, and where what they hold is drawn beyond doubt."""
_PHRASES = frozenset({"mnemonic", "seed", "seedphrase", "phrase"})
_KEY_OF = words(
    "api access secret private auth account storage signing sign encryption encrypt master service "
    "shared client admin license ssh pgp gpg wireguard preshared hmac webhook subscription deploy "
    "app "
    "consumer rsa session integration personal bot jwt aes cipher symmetric crypto decryption "
    "project "
    "org organization team user dev prod live root developer write ingest restricted server "
    "platform "
    "application billing partner vendor merchant seller system enc "
    "cookie auth0 wifi network wpa recovery rescue unseal unlock tenant account agent node "
    "cluster join"
)
_NO_KEY_OF = words(
    "public primary foreign partition sort cache state dict map lookup row index hash object s3 "
    "pub "
    "sorting group unique column field json data dedupe idempotency tag label option config "
    "parameter "
    "attribute property registry storagepath translation i18n message routing license_public host "
    "known ordering slot stage run shard bucket"
)
_SUFFIXES = words(
    "value val prod production dev development test testing staging live b64 base64 raw string str "
    "plain plaintext new old current main primary secondary default hex encoded text clear temp "
    "tmp "
    "master root admin data enc a b base bytes hash64 env dev2 stg prd qa uat"
)
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
