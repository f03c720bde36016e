"""What tools answer when a call was wrong, or when the world gives out: RE2 expressions by kind, in
the order in which they are tried.
"""

from collections.abc import Mapping

import msgspec


class Kind(msgspec.Struct, frozen=True):
    """Expressions (case ignored) and the confidence of a match."""

    confidence: float
    patterns: tuple[str, ...]


FAILURES: Mapping[str, Kind] = {
    "invalid_arguments": Kind(
        0.9,
        (
            r"invalid\s+(?:arguments?|parameters?|types?|values?|formats?|dates?|json|input)\b",
            r"\btype\s*error",
            r"expected\s+\w+\s*,?\s*(?:but\s+)?got\s+\w+",
            r"required\s+(?:field|parameter|argument|property)",
            r"missing\s+(?:\d+\s+)?(?:required|argument|parameter|field)",
            r"validation\s+(?:failed|error)",
            r"must\s+be\s+an?\s+\w+",
            r"cannot\s+be\s+(?:null|empty|none|blank)",
            r"is\s+not\s+(?:a\s+)?valid\b",
            r"does\s+not\s+match",
            r"out\s+of\s+range",
            r"malformed\s+request",
            r"unexpected\s+keyword\s+argument",
        ),
    ),
    "tool_not_found": Kind(
        0.95,
        (
            r"(?:unknown|undefined|unrecogni[sz]ed|invalid)\s+(?:function|tool)",
            r"(?:function|tool)\s+(?:\S+\s+)?(?:was\s+)?not\s+found",
            r"no\s+such\s+(?:function|tool)",
            r"action\s+not\s+supported",
        ),
    ),
    "authorisation": Kind(
        0.8,
        (
            r"\bunauthori[sz]ed\b",
            r"(?:status|error|http|code)\s*:?\s*40[13]\b",
            r"(?:permission|access)\s+denied",
            r"\bforbidden\b",
            r"not\s+authori[sz]ed",
            r"authentication\s+(?:required|failed)",
            r"invalid\s+(?:credentials?|tokens?)",
            r"tokens?\s+(?:has\s+)?expired",
            r"missing\s+authori[sz]ation",
            r"insufficient\s+permissions?",
        ),
    ),
    "state": Kind(
        0.85,
        (
            r"(?:invalid|illegal)\s+state",
            r"must\s+(?:call\s+)?\w+\s+(?:first|before)",
            r"cannot\s+\w+\s+before",
            r"already\s+(?:exists?|created|started|finished|cancelled|canceled)",
            r"not\s+(?:initiali[sz]ed|started)",
            r"already\s+in\s+progress",
            r"precondition\s+failed",
            r"(?:status|error|http|code)\s*:?\s*409\b",
            r"\bconflict\b",
        ),
    ),
    "bad_query": Kind(
        0.8,
        (
            r"(?:invalid|malformed|unsupported)\s+(?:query|filter|search|operator|field|id|identifier)\b",
            r"query\s+(?:syntax\s+error|failed)",
            r"unknown\s+(?:field|id)\b",
            r"search\s+(?:error|failed)",
            r"id\s+format\s+error",
        ),
    ),
}
BAD_QUERY_WEAK = 0.6
"""Of a bad query whose answer says neither error nor invalid nor failed."""

EXHAUSTION: Mapping[str, Kind] = {
    "rate_limit": Kind(
        0.95,
        (
            r"rate.limit",
            r"(?:status|error|http|code)\s*:?\s*429\b",
            r"too\s+many\s+requests?",
            r"quota\s+(?:exceeded|limit)",
            r"throttl(?:ed|ing)",
            r"(?:request|api)\s+limit",
            r"calls?\s+per\s+(?:second|minute|hour|day)",
            r"retry\s+after",
        ),
    ),
    "server": Kind(
        0.9,
        (
            r"50[0234]\s*(?:internal\s+server\s+error|bad\s+gateway|service\s+unavailable)",
            r"(?:internal\s+)?server\s+error",
            r"service\s+(?:temporarily\s+)?unavailable",
            r"temporarily\s+unavailable",
            r"(?:backend|upstream|system|unexpected)\s+error",
            r"(?:maintenance\s+mode|under\s+maintenance)",
            r"try\s+again\s+later",
            r"unhandled\s+exception",
        ),
    ),
    "timeout": Kind(0.9, (r"time[d\s-]*out", r"deadline\s+exceeded", r"took\s+too\s+long")),
    "network": Kind(
        0.9,
        (
            r"connection\s+(?:refused|reset|failed|error|aborted)",
            r"econn(?:refused|reset)",
            r"\benotfound\b",
            r"dns\s+(?:error|failure|lookup)",
            r"(?:host\s+not\s+found|no\s+route\s+to\s+host)",
            r"network\s+(?:error|failure|is\s+unreachable|unreachable)",
            r"socket\s+error",
            r"(?:unable\s+to|cannot|could\s+not)\s+connect",
            r"ssl\s+(?:error|handshake|certificate)",
            r"certificate\s+(?:error|invalid|expired)",
        ),
    ),
    "malformed_response": Kind(
        0.85,
        (
            r"json\s*(?:parse|decode)\s*error",
            r"unexpected\s+(?:token|end\s+of|response|schema)",
            r"malformed\s+(?:response|json|data)",
            r"pars(?:e\s+error|ing\s+failed)",
            r"invalid\s+response",
            r"schema\s+validation",
            r"deseriali[sz]ation\s+error",
            r"failed\s+to\s+decode",
        ),
    ),
    "context_overflow": Kind(
        0.9,
        (
            r"context\s+(?:length|limit|overflow|exceeded|window)",
            r"token\s+(?:limit|overflow|exceeded)",
            r"max(?:imum)?\s+(?:tokens?|context)",
            r"(?:input|message|content|prompt)\s+(?:is\s+)?too\s+(?:long|large)",
            r"truncat(?:ed|ion)\s+(?:due\s+to|because|for)\s+(?:length|size|limit)",
        ),
    ),
}
