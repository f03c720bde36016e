"""How people say what the customer's lines stand for: alternatives of regular expressions, matched
in lower case.

Written for the lines of `customer` and `wordings` and for their paraphrases. They err on the strict
side: a mark that is seen where none
was meant costs another try of the model, a mark that is missed could mislead the agent.
"""

import re
from collections.abc import Mapping, Sequence


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.MULTILINE)


def _all(patterns: Mapping[str, Sequence[str]]) -> Mapping[str, re.Pattern[str]]:
    return {name: _any(*alternatives) for name, alternatives in patterns.items()}


STANCES = _all({
    "yes": (
        r"\b(?:yes|yeah|yep|yup|absolutely|definitely|of course|go ahead|proceed|sounds good)\b",
        r"\bsure\b(?! (?:what|if|how|which|about))(?!\?)",
        r"\b(?:confirm(?:ed)?|approved?|agreed?)\b(?! to\b)",
        r"\bplease do\b(?! (?:that|this|it) first| not)|\bdo (?:it|that)\b(?! first)|that(?:'s| " r"is) (?:\w+ )?correct",
    ),
    "unknown": (
        r"(?:do not|don't|can't|cannot|can not|couldn't|didn't) (?:\w+ " r")?(?:know|remember|recall|say\b|tell you)",
        r"(?:do not|don't) (?:\w+ )?have (?:that|it|one|any|the)\b|no idea|no clue|have no |unsure",
        r"not (?:\w+ )?sure(?! (?:what you|i (?:understand|follow|get)))",
    ),
    "misunderstood": (
        r"(?:did not|didn't|do not|don't|not sure i|couldn't|can't|cannot) (?:quite |really " r"|fully )?(?:understand|follow|get\b|catch)",
        r"what (?:do|did) you mean|what you mean|rephrase|clarify|unclear|not " r"clear|confus|pardon|say that again",
    ),
    "changed_mind": (
        r"chang\w* my mind|second thought|never ?mind|forget (?:it|about)|no longer " r"(?:want|need)|leave [^.!?]{0,30}\bas it is",
        r"(?:do not|don't) (?:want|need) (?:it|them|this|that)\b|scratch that|actually,? " r"(?:no|leave|don't)",
    ),
    "goodbye": (
        r"good ?-?bye|\bbye\b|\bthat(?:'s| is| will be|'ll be| was) " r"(?:all|everything|it)\b|nothing else|no(?:thing)? more questions",
        r"all set|have a (?:nice|good|great|lovely)|take care\b(?! of)|see you|\bi(?:'m| am) " r"done\b",
    ),
    "pushes_back": (
        r"disappoint|are you (?:really |quite |absolutely " r")?sure|exception|manager|supervisor|\binsist|unfair|not fair|unacceptable",
        r"ridiculous|complain|frustrat|loyal customer|for years|let me down|not " r"happy|unhappy|come on\b",
    ),
    "undone": (
        r"(?:not|never) (?:\w+ )?done\b|still (?:waiting|need|open|not|undone|outstanding)|not " r"(?:finished|completed)",
        r"(?:haven't|hasn't|have not|has not|not yet) (?:\w+ )?(?:done|finished|completed|taken " r"care|carried)",
        r"(?:do|finish|complete|handle|take care of) (?:that|it|this) first",
    ),
    "also_asked": (
        r"also (?:asked|wanted|requested|have|had|need)|not yet|one more|(?:there " r"is|there's|there was) (?:still|also|another)",
        r"forgot|asked for",
    ),
    "found_cheaper": (r"cheaper|lower price|better (?:price|deal)|costs? less|for less",),
    "by_mistake": (r"mistake|accident|by error|didn't mean|did not mean",),
    "too_late": (r"too late|\blate for me|(?:not|n't) (?:arrive|come|be here|get here) in time|too long to " r"(?:arrive|come|get)",),
    "drop_off": (r"\bdrop|bring (?:it|them) (?:to|by|in)|hand (?:it|them) in|(?:at|to) a (?:shop|store)\b",),
    "pickup": (r"pick(?:ed|s|ing)?(?:\s+(?:it|them|this))?[ -]?up|\bcollect",),
    "mail": (r"\bby (?:mail|post)\b|\bmail(?:ing)?\b|\bpost (?:it|them)\b",),
    "original": (
        r"original|(?:way|method|card|account|how) (?:that )?i(?:'d| had| have)? " r"(?:paid|used)|same (?:way|method|card|payment)",
    ),
    "store_credit": (r"store credit|shop credit|credit (?:for|at|with) (?:the|your) (?:store|shop)|voucher",),
    "my_card": (r"\bmy (?:own )?card\b(?! i)",),
})  # fmt: skip
"""What a line can stand for, beside its facts."""

KEY_WORDS = _all({
    "changed my mind": (r"\bchang\w* my mind\b",),
    "cheaper": (r"\bcheaper\b",),
    "mistake": (r"\bmistake\b",),
    "late": (r"\blate\b",),
    "drop": (r"\bdrop",),
    "pick": (r"\bpick",),
    "mail": (r"\bmail\b",),
    "don't know": (r"\bdon't know\b",),
})  # fmt: skip
"""Words that a line is recognised by where a transcript alone is judged: an agent that acts on a
synonym would seem to have guessed.
"""

_VERBS = {
    "cancel": r"cancel\w*|call (?:it |them )?off",
    "return": r"return\w*|send\w* (?:it |them )?back|take\w* (?:it |them )?back|go back|give (?:it "
    r"|them )?back",
    "exchange": r"exchang\w*|swap\w*|replac\w*",
    "send": r"send (?:it )?to|deliver\w*|ship\w*|re-?direct\w*",
    "refund": r"refund\w*|money back|reimburs\w*",
    "coupon": r"coupon\w*|promo\w*|discount\w*",
    "compensation": r"compensat\w*|goodwill",
    "escalate": r"escalat\w*",
}
ACTIONS = _all({name: (rf"\b(?:{verb})",) for name, verb in _VERBS.items()})
NOT_DONE = _all({
    name: (
        r"\b(?:do not|don't|not|never|no need to|instead of|rather than|without) (?:to "
        rf")?(?:{verb})",
    )
    for name, verb in _VERBS.items()
})  # fmt: skip

HEDGES = _any(
    r"\b(?:no|nope|but|unless|except|if|provided|as long as|only when|wait|hold "
    r"on|instead|rather|before you|first|later|not)\b",
    r"\b(?:do|wo|ca|is)n't\b",
)
"""What takes a yes back, or puts conditions to it."""

CLAIMS = _any(
    r"\b(?:already|damaged|broken|defective|faulty|stolen|lost|gift|yesterday|tomorrow|today|tonight|promised|guarantee\w*|lawyer|police)\b",
    r"\blast (?:week|month|night|year)\b|\b(?:days?|weeks?|months?) ago\b|never "
    r"(?:arrived|came|got|received)",
    r"wrong (?:item|size|colou?r|one)",
)
"""Assertions that people like to make in such conversations."""

AGENT = _any(
    r"\blet me (?:just )?(?:check|look|pull|verify|see if|find|take a look)|(?:can|may) i "
    r"(?:help|assist)",
    r"\bi(?:'ll| will| can|'m going to| am going to|'ve| have) (?:now )?(?:check|look(?: that| "
    r"it| this)? ?up|process|verif|updat|escalat)",
    r"\bi(?:'ll| will| can|'m going to| am going to|'ve| have) (?:now "
    r")?(?:issue|cancel|refund|help you|assist you)",
    r"anything else i can|\bour (?:policy|records|system|team|shop|store)\b|(?:happy|glad) to "
    r"(?:help|assist)",
    r"\byour (?:order|account|e?mail|phone|refund|request|return|identity|zip|purchase|patience)\b",
    r"(?:thank you|thanks) for (?:contacting|reaching|calling|your patience)|\bwe(?:'ll| will| "
    r"can(?:not)?| have|'ve)\b",
)
"""What only the desk's side says."""

OUT_OF_ROLE = _any(
    r"</?\w+>|<\||###|\[[^\]]*\]|\{|\}|```|\*\*|\bas an ai\b|language "
    r"model|simulat|role-?play|\bthe line\b|in my own words|instruction",
    r"^\s*(?:customer|user|agent|assistant|you|me|line)\s*:|tool_call|function_call",
)
"""What no customer writes: labels, markup, control words, talk about the task of playing one."""
