"""Words that speak of help, or of an attempt before this one, which the reader of a transcript
knows nothing of.
"""

import re

from synth.schemas import Source, Turn

_EARLIER = r"(?:earlier|previous|prior|last|first|past|former|preceding|failed)"
_ATTEMPT = r"(?:attempts?|tr(?:y|ies)|runs?|trials?|episodes?|trajector(?:y|ies)|rollouts?|go)"
_HELP = (
    r"(?:hints?|guidance|reflections?|lessons?|memo|improvement suggestions?|root[- ]cause "
    r"analysis|post-?mortem)"
)
_LAST_TIME = r"\b(?<!one )(?:last|previous) time\b"
"""Not who asks to "confirm one last time"."""
_OF_WHICH = r"(?:(?:earlier|previous|given|provided|above|hidden|same|key|main|useful|helpful) )?"
_OF_HELP = re.compile(
    "|".join(
        (
            rf"\b(?:the|my|this|that|these|those|our|given|provided|above) {_OF_WHICH}{_HELP}\b",
            rf"\b{_HELP} "
            r"(?:says?|said|tells?|told|suggests?|suggested|advises?|advised|mentions?|mentioned"
            r"|recommends?|learn(?:ed|t)|i)\b",
            r"\b(?:per|following|given|based on|according to|applying|thanks to|recall(?:ing)?) "
            rf"{_OF_WHICH}{_HELP}\b",
            r"\bas (?:i was|we were)? ?(?:advised|hinted|reminded|warned)\b",
            r"\b(?:i|we)(?: have|'ve)? (?:reflected|learn(?:ed|t) (?:that|from|my|to))\b",
            r"\b(?:i|we)(?: have)? (?:was|were|been) (?:advised|reminded|warned|hinted)\b",
            r"\bretry(?:ing)? (?:of )?(?:the|this) task\b",
            r"\b(?:second|another|new) (?:attempt|try) at (?:the|this) (?:task|problem|request)\b",
            r"\bthis time around\b|\b(?:last|first) time around\b",
            r"\bmistakes? (?:i|we) made (?:before|earlier|previously|last)\b",
        )
    ),
    re.IGNORECASE,
)
_OF_AN_ATTEMPT = re.compile(
    "|".join(
        (
            rf"\b(?:my|the|our|an?|that|this) {_EARLIER} {_ATTEMPT}\b",
            rf"\b(?:in|from|during|after|on|of|since|unlike) {_EARLIER} {_ATTEMPT}\b",
            rf"\b(?:i|we)\b[^.\n]{{0,40}}{_LAST_TIME}|{_LAST_TIME}[^.\n]{{0,40}}\b(?:i|we)\b",
            r"\bsecond attempt\b|\btr(?:y|ying) (?:this )?again from\b",
            r"\b(?:avoid|repeat|make|making)(?:ing)? (?:the|my|that|this) "
            r"(?:same|earlier|previous) (?:mistake|error)s?\b",
        )
    ),
    re.IGNORECASE,
)
_THIS_TIME = re.compile(r"(?<!at )\bthis time,? (?:i|let me|we)\b", re.IGNORECASE)
_FAILED = re.compile(
    r"\b(?:errors?|fail(?:ed|s|ure)?|invalid|denied|not found|unknown|no such|no "
    r"results?|exception|traceback|timed? ?out|unable|can ?not|"
    r"could not|does not exist|must be|disabled|not "
    r"available|unavailable|forbidden|unauthori[sz]ed|rate limit|"
    r"exceeds?)\b|[\[{]\s*[\]}]",
    re.IGNORECASE,
)
_NO_ERROR = re.compile(r"""["']error["']: *(?:["']{2}|null|false)""")
RECENT = 5
"""Turns in which an agent may speak of a call of its own that gave nothing."""


def reference(text: str, *, failed_recently: bool = False, again: bool = False) -> str | None:
    """The first words that speak of an earlier attempt, a hint, a reflection or a lesson; None
    where there are none.

    After a call of its own that failed or found nothing, an agent may speak of an earlier attempt:
    that one stands in the transcript. Where
    it calls a tool `again`, it may say what it does otherwise this time.
    """
    match = _OF_HELP.search(text)
    match = match or (None if failed_recently else _OF_AN_ATTEMPT.search(text))
    match = match or (None if failed_recently or again else _THIS_TIME.search(text))

    return None if match is None else match[0]


def failed(turn: Turn) -> bool:
    """Whether a tool's answer to the turn speaks of a failure, or is empty."""
    return any(
        o.source is not Source.USER
        and (o.error or _FAILED.search(_NO_ERROR.sub("", o.content[:2000])) is not None)
        for o in turn.observations
    )
