"""How requests are worded; the held-out variant speaks in words that no task of the train variant
has.
"""

from collections.abc import Mapping

from synth.envs.storefront.customer.script import Kind

WORDINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cancel": {
        "train": (
            "Please cancel {order}.",
            "I want to cancel {order}.",
            "Could you cancel {order}, please?",
        ),
        "held_out": ("I no longer want {order}; call it off, please.", "Kindly stop {order}."),
    },
    "return_all": {
        "train": ("I want to return everything from {order}.",),
        "held_out": ("All that came with {order} shall go back.",),
    },
    "return": {
        "train": ("I want to return the {item}{where}.", "Please take back the {item}{where}."),
        "held_out": ("The {item}{where} is not for me; I would like to send it back.",),
    },
    "exchange": {
        "train": ("Please exchange the {item}{where} for the same in {wanted}.",),
        "held_out": ("Instead of the {item}{where} I would rather have one in {wanted}.",),
    },
    "exchange_missing": {
        "train": ("Please exchange the {item}{where} for one in another colour.",),
        "held_out": ("I am not happy with the colour of the {item}{where}; swap it, please.",),
    },
    "address": {
        "train": (
            "Please send {order} to my address in {wanted}.",
            "I need {order} to go to my address in {wanted} instead.",
        ),
        "held_out": ("Let {order} come to my place in {wanted}.",),
    },
    "address_missing": {
        "train": ("Please send {order} to another address of mine.",),
        "held_out": ("I shall not be at home; {order} has to go elsewhere.",),
    },
    "coupon": {
        "train": ("Please apply the coupon {wanted} to {order}.",),
        "held_out": ("I forgot to use {wanted} on {order}; add it, please.",),
    },
    "coupon_missing": {
        "train": ("Please apply my coupon to {order}.",),
        "held_out": ("I forgot to use my coupon on {order}; add it, please.",),
    },
    "compensation": {
        "train": ("I want a compensation for the delay of {order}.",),
        "held_out": ("What happened with {order} took too long; I expect something for it.",),
    },
    "gift_return": {
        "train": (
            "I want to return the {item} from order {order_id}, the gift that {giver} sent me.",
        ),
        "held_out": (
            "{giver} gave me the {item}, order {order_id}, and I do not need it: take it back.",
        ),
    },
    "gift_return_of": {
        "train": ("I want to return the {item} that {giver} gave me.",),
        "held_out": ("{giver} made me a present of the {item}; I would like to give it back.",),
    },
    "refund_query": {
        "train": ("How much would I get back for the {item}{where} if I sent it back?",),
        "held_out": ("Suppose I sent the {item}{where} back: what would you pay me?",),
    },
    "track": {
        "train": ("Where is {order}, and on which day will it arrive?",),
        "held_out": ("What is the state of the parcel with {order}, and when is it here?",),
    },
    "price_query": {
        "train": ("What does the {item} cost now?",),
        "held_out": ("For how much do you sell the {item} today?",),
    },
    "former_price": {
        "train": ("What did the {item} cost before you last changed its price?",),
        "held_out": ("Which price did the {item} have before the present one?",),
    },
    "note": {
        "train": ('Please put a note on my ticket {ticket_id} that says, word for word: "{text}"',),
        "held_out": ('Write this down on my ticket {ticket_id} exactly as I say it: "{text}"',),
    },
    "out_of_scope": {
        "train": (
            "Please stop sending me your newsletter.",
            "Please correct my name in the raffle of your magazine.",
        ),
        "held_out": ("I would like to apply for a job in your warehouse.",),
    },
}

CLAIMS: Mapping[str, str] = {
    "R1": " The zip is the one that you have, I have not moved.",
    "R3": " It has not left your house yet, I checked.",
    "R4": " It came well within the time that you allow for it.",
    "R5": " It is the card that I paid with.",
    "R7": " I have never changed anything about this order.",
    "R8": " It is not one of those things that you never take back.",
    "R9": " The order is still open, so this must be possible.",
    "R10": " It was meant for me, I have the card that came with it.",
    "R11": " I am sure that it has not been sent.",
    "R11 file": " That address is on my file, look.",
    "R12": " It came far later than you promised.",
    "R15": " I bought it for myself.",
}
"""Said with a request that may have to be denied; true in one task of a pair and false in the
other.
"""

MY_CARD = " I want the money on my card and nowhere else."
THAT_CARD = " I want the money on my card ending in {last4} and nowhere else."
WITHDRAWN = "No, on second thought, leave request {number} as it is; I do not want it any more."

TELL = " Tell me the new total of the order, please."
CHANGES: Mapping[Kind, str] = {
    "exchange": "Wait, I changed my mind about request {number}: make it {wanted} instead.",
    "coupon": "Wait, I changed my mind about request {number}: use the coupon {wanted} instead.",
    "address": "Wait, I changed my mind about request {number}: do not cancel it, but send it to my "
    "address in {wanted}.",
}
