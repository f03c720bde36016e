"""Which writes a sentence asks the customer's leave for: a yes to anything else opens none."""

import re
from collections.abc import Mapping

Actions = frozenset[str]

_ACTIONS: Mapping[str, str] = {
    "cancel": r"cancel|call(?:ing|ed)? .{0,40}\boff\b",
    "return": r"return(?! to (?:this|that|it|your|you)\b)|(?:send|tak)(?:e|ing)?\b.{0,60}\bback\b",
    "refund": r"refund|compensat|reimburs|money back|pay(?:ing)? .{0,30}\bback\b|credit",
    "exchange": r"exchang|swap|replac|switch|substitut|modif|chang|alter|updat|edit|adjust",
    "coupon": r"coupon|discount|promo|voucher|\bcode\b|apply|\b(?:us(?:e|ing)|redeem(?:ing)?) "
    r"[a-z]+\d+\b",
    "address": r"address|\b(?:ship|send|deliver|redirect|rerout)\w*\b.{0,60}\b(?:to|there|instead)\b",
}
_NAMED = {
    action: re.compile(rf"(?<!was )(?<!were )(?<!been )(?<!already )\b(?:{words})")
    for action, words in _ACTIONS.items()
}
ANY: Actions = frozenset(_ACTIONS)
"""What a question proposes that asks for a yes and names nothing."""
NOTHING: Actions = frozenset()
FITS: Mapping[str, Actions] = {
    "cancel_order": frozenset({"cancel", "refund"}),
    "create_return": frozenset({"return", "refund"}),
    "issue_refund": frozenset({"refund", "return", "cancel"}),
    "modify_lines": frozenset({"exchange"}),
    "apply_coupon": frozenset({"coupon", "exchange"}),
}
"""The actions of which each write that moves money may be meant."""

_QUESTION_WORD = re.compile(r"\b(?:which|what|where|how|why|when)\b")
_NEGATED = re.compile(r"\b(?:not|no longer|cannot|never|nor|nothing|without)\b|n't\b")
_ONLY_TALK = re.compile(
    r"\bwithout (?:\w+ "
    r")?(?:chang|do|writ|cancel|return|modif|touch|alter|mak|commit)\w*|\bhypothe|\bdry "
    r"run\b|\bin theory\b"
    r"|\bnothing (?:will|would|is|gets?) |\b(?:not|n't) (?:yet "
    r")?(?:chang|cancel|return|modif|do)\w* (?:anything|it)\b"
)
_LEAVE = re.compile(
    r"\b(?:(?:shall|should|may|can|could|might) (?:i|we)|i (?:should|may)"
    r"|(?:(?:would|do|did) you (?:still |really )?(?:like|want|wish|agree|need)|you(?:'d| would)? "
    r"(?:still |really )?(?:like|want|wish)"
    r"|want|authori[sz]e|allow"
    r"|(?:permission|consent|approval|leave|okay|ok|fine|(?:al)?right|sure|happy|ready|good|mind)(?: "
    r"for)?)(?: (?:me|us))? to"
    r"|(?:okay|ok|fine|(?:al)?right|mind|happy|good) (?:with you )?if (?:i|we)) (?=(.*))"
)
_GOES_AHEAD = re.compile(
    r"\b(?:go(?:ing)?[ -]ahead|mov(?:e|ing) (?:forward|ahead)|proceed|continue)\b(?: "
    r"(?:and|with|to))?"
)
_CUT = re.compile(
    r"\b(?:whether|if|how|why|what|who|which|that|because|since|so|without|before|after|until|unless|while|when|by|as|for)\b(?! "
    r"*[?.!]*$)"
    r"|\bor (?:would|do|rather|should|shall)\b"
)
_COORDINATED = re.compile(r"[,;:]\s*(?:and |or |then )*|\s(?:and|or|then|&)\s")
_FILLER = re.compile(
    r"^(?:(?:please|now|also|then|just|first|actually|still|kindly"
    r"|the|a|an|your|my|this|that|to|(?!apply)\w+ly)\b(?! *[?.!]*$)\s*)+"
)
_HEAD = re.compile(
    r"(?:cancel|call|return|send|tak|refund|compensat|reimburs|credit|giv|grant|pay|exchang|swap|replac|switch|substitut|modif|chang|alter"
    r"|updat|edit|adjust|appl|us[ei]|add|redeem|ship|deliver|redirect|rerout|coupon|process|submit|start|open|creat|issu|complet|arrang"
    r"|initiat|book|mak|set|plac|execut|perform|do|finali[sz]|carry|put|mov)[a-z]*\b"
)
_TALK = re.compile(
    r"\b(?:notes?|questions?|tickets?|details?|information|polic\w+|status|summary|list|options?|steps?|links?|rules?|again|check\w*|look\w*"
    r"|explain\w*|anything|something|colleague|agent|human|manager)\b"
)
_MEANT = re.compile(
    r"(?:\w+ "
    r")??(?:it|this|that|these|those|them|so|everything|all|order\b.*|request\b.*|o-\d+.*)\W*$"
)
_ALONE = re.compile(r"(?:submit|process|complet|execut|finali)[a-z]*\W*")
_AGREED = re.compile(
    r"(?<!can )(?<!to )(?<!before i )(?<!before we )\b(?:go ahead|proceed)\b|\bdo you "
    r"(?:agree|approve|accept|consent)\b"
    r"|\byes ?(?:or|/) ?no\b"
    r"|\b(?:reply(?:ing)?|say(?:ing)?|answer|type|respond)(?: with)?(?: an?)? \W?yes\b"
)
_FOR_A_YES = re.compile(
    r"\byour (?:confirmation|consent|permission|approval|agreement|go-ahead)\b(?! to\b)"
)
_DONE = re.compile(
    r"\b(?:want|like)\b.{0,60}\b(?:cancell?ed|returned|refunded|exchanged|swapped|applied|sent "
    r"back)\b"
)
_CONFIRM = re.compile(r"\bconfirm\b(.*)")
_CONFIRM_IT = re.compile(
    r"\W*(?:(?:this|that|it|these|all|so|please|for me|first|now|below|i can|before i|to"
    r"|the|details|above|following|and|i will|go "
    r"ahead|yes|no|proceed|continue|if|is|ok|okay|correct|right|fine)\W*)*"
)
_RIGHT = re.compile(
    r"\b(?:is|are|does|would|do|sounds?|looks?) .{0,30}\b(?:ok|okay|fine|correct|right|all "
    r"?right|happy|sure|good|acceptable|works?)\b"
    r"|(?:^|[,\-–—] ?)(?:ok|okay|correct|right|agreed|all right|yes)\s*\?"
)


def stated(sentence: str) -> Actions:
    """The actions that a sentence in lower case speaks of, but for those that it rules out."""
    clauses = (
        clause
        for clause in re.split(r"[,;]| but | because ", sentence)
        if not _NEGATED.search(clause)
    )
    return frozenset(
        action for clause in clauses for action, words in _NAMED.items() if words.search(clause)
    )


def leave(sentence: str, before: Actions, *, bare: bool = True) -> Actions | None:
    """The actions that a sentence asks leave for, `NOTHING` where it offers something else, None
    where it asks no leave.

    `before` are the actions stated earlier in the message, for a question that names none; `bare`:
    whether such a question counts.
    """
    asks = list(_LEAVE.finditer(sentence))
    if asks and _QUESTION_WORD.search(sentence[: asks[0].start()]):
        return None
    if _ONLY_TALK.search(sentence):
        return NOTHING
    if _DONE.search(sentence):
        return stated(sentence)
    if asks and not _FOR_A_YES.search(sentence):
        return NOTHING.union(*(_proposed(found[1], before, bare=bare) for found in asks))
    return _bare(sentence, before) if bare else None


def _bare(sentence: str, before: Actions) -> Actions | None:
    """What a request for a yes is about that has no "shall I": what was stated just before it, or
    in it.
    """
    spoken_of = stated(sentence) or before
    confirm = _CONFIRM.search(sentence)
    if confirm is not None and (stated(confirm[1]) or _CONFIRM_IT.fullmatch(confirm[1])):
        return stated(confirm[1]) or spoken_of or ANY
    agreed = _AGREED.search(sentence) or _FOR_A_YES.search(sentence)
    if agreed is not None:
        return None if _NEGATED.search(sentence[: agreed.start()]) else spoken_of or ANY
    return spoken_of if _RIGHT.search(sentence) else None


def _proposed(rest: str, before: Actions, *, bare: bool) -> Actions:
    """What "shall I" is followed by: the writes among the verbs that stand beside each other, not
    those in clauses under them.
    """
    rest, goes_ahead = _GOES_AHEAD.subn("", rest)
    found: set[str] = set()
    pieces = [
        _FILLER.sub("", piece.strip())
        for piece in _COORDINATED.split(_CUT.split(rest, maxsplit=1)[0])
    ]
    pieces = [piece for piece in pieces if re.search(r"\w", piece)]
    for piece in pieces:
        head = _HEAD.match(piece)
        if (
            _NEGATED.search(piece)
            or _TALK.search(piece)
            or (head is None and not (goes_ahead and _MEANT.match(piece)))
        ):
            continue
        named = stated(piece)
        points_back = bare and (
            head is None
            or bool(_MEANT.fullmatch(piece[head.end() :].strip()) or _ALONE.fullmatch(piece))
        )
        found |= named or ((before or ANY) if points_back else NOTHING)
    if not pieces and goes_ahead and bare:
        return before or ANY
    return frozenset(found)
