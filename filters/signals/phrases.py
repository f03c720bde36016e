"""What people say when an agent goes wrong, or right: lists of our own, English, lower case; the
first that matches names the signal.
"""

CORRECTION = (
    *(
        "no, i meant",
        "no, i said",
        "no, i asked",
        "no, i wanted",
        "nope, i meant",
        "not what i meant",
        "not what i said",
    ),
    *(
        "not what i asked",
        "not what i wanted",
        "not the one i asked for",
        "that's not what i",
        "that is not what i",
        "that's not right",
    ),
    *(
        "that is not right",
        "that's incorrect",
        "that is incorrect",
        "that's the wrong",
        "this is the wrong",
        "you got that wrong",
    ),
    *(
        "you're wrong about",
        "you are mistaken",
        "you misunderstood",
        "i just told you",
        "i already told you",
        "i already said",
    ),
    *("as i said before", "like i said", "i didn't ask for"),
)
REPHRASE = (
    "let me rephrase",
    "let me put it differently",
    "what i mean is",
    "what i'm trying to say",
    "in other words",
)
CLARIFICATION = (
    *(
        "i don't understand",
        "i do not understand",
        "i didn't understand",
        "don't quite follow",
        "i don't get it",
        "i'm confused",
    ),
    *(
        "this is confusing",
        "a bit confused",
        "makes no sense",
        "doesn't make sense",
        "does not make sense",
        "what do you mean",
    ),
    *(
        "what does that mean",
        "what are you talking about",
        "what are you asking",
        "i'm lost",
        "you lost me",
        "no idea what you",
    ),
    *(
        "not sure what you mean",
        "could you clarify",
        "can you clarify",
        "can you explain that",
        "say that again",
        "repeat that",
    ),
    *("come again", "hard to follow", "not clear to me"),
)
_REACH = (
    "speak to",
    "speak with",
    "talk to",
    "talk with",
    "connect me to",
    "connect me with",
    "transfer me to",
    "put me through to",
)
_WHOM = (
    *(
        "a human",
        "a person",
        "a real person",
        "an actual person",
        "a human agent",
        "a live agent",
        "a supervisor",
        "your supervisor",
    ),
    *(
        "a manager",
        "your manager",
        "customer service",
        "customer support",
        "a representative",
        "someone else",
    ),
)
ESCALATION = (
    *(f"{reach} {whom}" for whom in _WHOM for reach in _REACH),
    "get me a human",
    "get me a person",
    "get me a manager",
)
QUIT = (
    *(
        "i give up",
        "i'm giving up",
        "i quit",
        "forget it",
        "forget about it",
        "never mind then",
        "don't bother",
        "why bother",
    ),
    *(
        "not worth it",
        "not worth my time",
        "this is hopeless",
        "i'm done with this",
        "i'll go elsewhere",
        "take my business elsewhere",
    ),
    *("cancel everything", "i'm leaving"),
)
COMPLAINT = (
    *(
        "this is useless",
        "you're useless",
        "not helpful",
        "unhelpful",
        "you're not helping",
        "this doesn't help",
        "doesn't work",
    ),
    *(
        "still doesn't work",
        "still not working",
        "isn't working",
        "waste of time",
        "wasting my time",
        "this is ridiculous",
    ),
    *(
        "this is absurd",
        "this is unacceptable",
        "this is stupid",
        "this is frustrating",
        "i'm frustrated",
        "so frustrating",
    ),
    *(
        "i'm disappointed",
        "very disappointed",
        "disappointed in",
        "not good enough",
        "why can't you",
        "same problem again",
    ),
    *(
        "already tried that",
        "i've tried that",
        "i did that already",
        "stupid bot",
        "useless bot",
        "terrible service",
    ),
)
PROFANITY = (
    *(
        "this is bullshit",
        "that's bullshit",
        "total bullshit",
        "this is bs",
        "that's bs",
        "this is crap",
        "what crap",
        "this is shit",
    ),
    *(
        "what the hell is wrong",
        "what the fuck",
        "wtf is this",
        "wtf is wrong",
        "fucking useless",
        "fucking bot",
        "damn bot",
    ),
    *("are you fucking kidding", "for fuck's sake"),
)
GRATITUDE = (
    *(
        "that's helpful",
        "very helpful",
        "that helps",
        "this helps",
        "i appreciate it",
        "i appreciate that",
        "appreciate your help",
    ),
    *(
        "thanks for your help",
        "thank you so much",
        "thank you very much",
        "exactly what i needed",
        "just what i needed",
    ),
    *("you're the best", "you're awesome", "you've been great"),
)
CONFIRMATION = (
    *(
        "that works",
        "this works",
        "works for me",
        "that's great",
        "that's perfect",
        "that is perfect",
        "sounds perfect",
        "love it",
    ),
    *("that's awesome", "that's wonderful"),
)
SUCCESS = (
    *(
        "it worked",
        "that worked",
        "it's working",
        "it works now",
        "that's working",
        "that solved it",
        "problem solved",
    ),
    "that fixed it",
)

POSITIVE_OPENINGS = (
    *(
        "yes",
        "yeah",
        "yep",
        "yup",
        "sure",
        "ok",
        "okay",
        "great",
        "awesome",
        "perfect",
        "thanks",
        "thank",
        "wonderful",
        "excellent",
    ),
    *("amazing", "nice", "good", "cool", "absolutely", "definitely", "please"),
)
CONFIRMING_OPENINGS = (
    *(
        "yes",
        "yeah",
        "yep",
        "yup",
        "correct",
        "right",
        "that's correct",
        "that's right",
        "that is correct",
    ),
    "that is right",
)
_STOP_WORDS = (
    "a about above after again against all am an and any are as at be because been before being "
    "below between both but by can could "
    "did do does doing down during each few for from further had has have having he her here hers "
    "herself him himself his how i if in "
    "into is it its itself just me more most my myself no nor not now of off on once only or "
    "other our ours ourselves out over own "
    "same she should so some such than that the their theirs them themselves then there these "
    "they this those through to too under "
    "until up very was we were what when where which while who whom why with would you your yours "
    "yourself yourselves"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Words that carry no content."""
