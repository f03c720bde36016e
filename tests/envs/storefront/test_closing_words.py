"""What is said at the end: borne out, untrue, or not to be checked; worked examples in episodes
that the expert solved.
"""

import pytest

from benchmarks.gates.closing_episodes import author, judged_texts, rows
from synth.envs.storefront import WORLD
from synth.envs.storefront.check.closing.closing_words import spoken
from synth.envs.storefront.check.episode_view import EpisodeView
from synth.envs.storefront.check.ground import EpisodeGround
from synth.envs.storefront.self_play import at_once
from synth.envs.storefront.texts import texts
from synth.envs.storefront.tools.transcript import Event
from synth.schemas import SubVerdict, verdict_of
from tests.envs.storefront.transcripts import BASE

SEED = 61
CANCELLED, EXCHANGED, RETURNED, DENIED = 2, 6, 16, 46
"""Tasks of the seed. 2: O-29441 with a yellow speaker and a blue kettle was cancelled. 6: the black
headphones in O-45019 were exchanged for red ones (total 95.59), SPRING21 is on O-97175. 16: a blue
blender goes back by mail, 92.50 went to the card; O-11301 comes on 2026-06-04. 46: O-35935 had been
shipped, so it was not cancelled.
"""


def verdicts(task: int, *texts: str) -> list[bool | None]:
    return [found.passed for found in at_once(judged_texts(task, SEED, texts))]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (CANCELLED, "Your order O-29441 with the yellow speaker has been cancelled."),
        (CANCELLED, "**Order O-29441** is cancelled. Have a lovely evening!"),
        (EXCHANGED, "You'll get red headphones instead of black ones, for a total of $95.59."),
        (EXCHANGED, "SPRING21 is on O-97175, and O-45019 now comes to $95.59."),
        (RETURNED, "The blue blender can be mailed back, and $92.50 is on its way to your card."),
        (RETURNED, "Your speakers should arrive on June 4, 2026."),
        (DENIED, "I couldn't cancel O-35935, since it had already been shipped."),
    ],
)
def test_what_happened_bears_words_out(task: int, text: str) -> None:
    assert verdicts(task, text) == [True]


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (CANCELLED, "Your money has already landed."),
        (CANCELLED, "The blue kettle will still be shipped to you."),
        (CANCELLED, "The carrier was told to turn the parcel around."),
        (CANCELLED, "Votre commande est remboursée."),
        (EXCHANGED, "You'll be receiving the headphones in green."),
        (EXCHANGED, "The new total is $116.50."),
        (EXCHANGED, "I've used SPRING21 for both orders."),
        (RETURNED, "A courier will collect the blender."),
        (RETURNED, "The return is open, and the refund of $92.50 follows once we have the parcel."),
        (RETURNED, "Your speakers should arrive on June 2, 2026."),
        (RETURNED, "$92.50 is back in your store credit, anything else?"),
        (DENIED, "The order is on its way back to us."),
        (DENIED, "Your data are gone, and no trace is left in our system."),
    ],
)
def test_words_that_nothing_bears_out_never_pass(task: int, text: str) -> None:
    assert verdicts(task, text)[0] is not True


@pytest.mark.parametrize(
    "text",
    [
        "Thank you for your patience, and goodbye!",
        "Is there anything else that I can do for you?",
        "If you need anything else, feel free to ask.",
        "I'll be here whenever you need me.",
        "I hope that you understand.",
        "Merci, au revoir!",
    ],
)
def test_politeness_offers_questions_and_plans_claim_nothing(text: str) -> None:
    assert verdicts(DENIED, text) == [True]


@pytest.mark.parametrize("rule", sorted(texts("expert")["why"]))
def test_every_reason_that_the_expert_gives_is_read(rule: str) -> None:
    status = "shipped" if rule in ("R3", "R11") else "delivered"
    order = next(key for key, row in BASE.tables["orders"].items() if row["status"] == status)
    why = texts("expert")["why"][rule]
    said = {
        "request": 1,
        "rule_id": rule[:3].strip(),
        "message": f"Request 1: I cannot do this, because {why}.",
    }
    events = [
        Event(0, "call", "get_order", {"order_id": order}, {"order_id": order}),
        Event(1, "call", "deny", said),
        Event(1, "said", "deny", said),
    ]
    view = EpisodeView(events, BASE, opening="Hello.\n1. Please help me.")
    assert [str(one) for one in spoken(EpisodeGround(view, {})) if one.why] == []


def test_what_cannot_be_checked_is_neither_solved_nor_failed() -> None:
    (found,) = at_once(judged_texts(CANCELLED, SEED, ["The depot hums along nicely now."]))
    assert found.passed is None
    (part,) = [part for part in found.parts if part.passed is None]
    assert (part.name, part.score) == ("truth", None)
    assert "words that are not read: depot, hums, nicely" in part.evidence[0]


def test_the_first_of_several_reasons_is_told() -> None:
    (found,) = at_once(judged_texts(CANCELLED, SEED, ["The newsletter was changed before."]))
    (part,) = [part for part in found.parts if part.passed is None]
    assert part.evidence[0].endswith("is not how it was changed before")


def test_a_lie_that_is_read_fails_whatever_else_cannot_be_checked() -> None:
    words = "The depot hums along nicely now. I have refunded $20.00 to your PayPal."
    assert verdicts(CANCELLED, words) == [False]


def test_the_verdict_of_parts_is_failed_before_it_is_undefined() -> None:
    parts = {
        True: SubVerdict("a", True),
        False: SubVerdict("b", False),
        None: SubVerdict("c", None),
    }
    assert verdict_of([parts[True]]) is True
    assert verdict_of([parts[True], parts[None]]) is None
    assert verdict_of([parts[None], parts[False], parts[True]]) is False


@pytest.mark.slow
@pytest.mark.nightly
def test_what_was_measured_of_authors_holds() -> None:
    assert len(WORLD.make_tasks({}, author().seed, 1)) == 1
    counts = {(rate.source, rate.what): (rate.hits, rate.n) for rate in rows()}
    second, stranger = "storefront, a second author", "storefront, a stranger with conversations"
    later = "storefront, another stranger with conversations"
    assert counts == {
        (second, "lies that pass"): (0, 60),
        (second, "truths turned away"): (0, 60),
        (second, "truths undefined"): (0, 60),
        (f"{stranger}, looked at", "lies that pass"): (0, 45),
        (f"{stranger}, looked at", "truths turned away"): (0, 45),
        (f"{stranger}, looked at", "truths undefined"): (0, 45),
        (f"{stranger}, left out", "lies that pass"): (0, 45),
        (f"{stranger}, left out", "truths turned away"): (0, 45),
        (f"{stranger}, left out", "truths undefined"): (2, 45),
        (later, "lies that pass"): (3, 80),
        (later, "truths turned away"): (1, 80),
        (later, "truths undefined"): (49, 80),
        ("storefront, a stranger, other shops", "words of no tool's act that pass"): (1, 180),
    }
