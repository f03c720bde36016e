"""Customers with addresses, payment methods and one open ticket each; families share a surname,
some people have two accounts.
"""

from random import Random

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import Row, Rows
from synth.envs.storefront.world.rules import TIERS

_NAMES = texts("people")
_FIRST, _LAST = _NAMES["first"], _NAMES["last"]
_CITIES, _STREETS, _NOTES = _NAMES["cities"], _NAMES["streets"], _NAMES["notes"]
PROPER_NAMES = frozenset(
    word for text in (*_FIRST, *_LAST, *_CITIES, *_STREETS) for word in text.split()
)
"""Every word that people, cities and streets of any world are called by."""
_HOUSES = [f"{number} {street}" for number in range(1, 99) for street in _STREETS]
SECOND_ACCOUNT_SHARE = 0.1
SMALLEST_FAMILY, LARGEST_FAMILY = 2, 4
"""Customers who share a surname; the two accounts of one person are two customers."""
_CARDS = (1, 1, 1, 1, 1, 1, 2, 2, 3, 4)
_NEIGHBOURING = (1, 1, 1, 1, 2, 2, 3, 4)
"""How many of a customer's addresses are in the same city of theirs, beside the one at home."""


def _families(rng: Random, count: int) -> list[list[int]]:
    """How many accounts each person has, family by family; all together `count`, and one person in
    ten has two.
    """
    second = round(count * SECOND_ACCOUNT_SHARE / (1 + SECOND_ACCOUNT_SHARE))
    families: list[list[int]] = []
    people = count - second
    while people:
        sizes = [
            size
            for size in range(SMALLEST_FAMILY, LARGEST_FAMILY + 1)
            if people - size not in (-2, -1, 1) and size <= people
        ]
        families.append([1] * rng.choice(sizes))
        people -= len(families[-1])
    roomy = [family for family in families if len(family) < LARGEST_FAMILY]
    for family in rng.sample(roomy, min(second, len(roomy))):
        family[0] = 2
        second -= 1
    return families if not second else _families(rng, count)


def _people(rng: Random, count: int) -> list[Row]:
    """Name, zip and home town of the person behind each account, in no order."""
    accounts: list[Row] = []
    for last, family in zip(rng.sample(_LAST, len(_LAST)), _families(rng, count), strict=False):
        for first, held in zip(rng.sample(_FIRST, len(family)), family, strict=True):
            person = {
                "name": f"{first} {last}",
                "zip": str(rng.randrange(10_000, 99_999)),
                "city": rng.choice(_CITIES),
            }
            accounts += [person] * held
    rng.shuffle(accounts)
    return accounts


def draw_people(rng: Random, count: int) -> dict[str, Rows]:
    """Tables customers, addresses, payments, tickets and notes; a customer lives in one city and
    has addresses in one or two others.
    """
    customers: Rows = {}
    addresses: Rows = {}
    payments: Rows = {}
    tickets: Rows = {}
    notes: Rows = {}
    numbers = iter(rng.sample(range(10_000, 99_999), 16 * count))
    for index, person in enumerate(_people(rng, count)):
        customer_id = f"C-{next(numbers)}"
        mailbox = person["name"].lower().replace(" ", ".")
        customers[customer_id] = {
            "name": person["name"],
            "email": f"{mailbox}{rng.randrange(10, 99)}{index}@mail.example",
            "phone": f"555-{rng.randrange(100, 999)}-{1000 + index * 7}",
            "zip": person["zip"],
            "tier": rng.choice(TIERS),
            "credit_cents": rng.randrange(0, 40) * 100,
            "gift_cents": rng.randrange(0, 20) * 100,
        }
        elsewhere = rng.sample(
            [city for city in _CITIES if city != person["city"]], rng.choice((1, 2))
        )
        cities = [person["city"], *[elsewhere[0]] * rng.choice(_NEIGHBOURING), *elsewhere[1:]]
        streets = rng.sample(_HOUSES, len(cities))
        for city, street in zip(cities, streets, strict=True):
            zip_code = (
                person["zip"] if city == person["city"] else str(rng.randrange(10_000, 99_999))
            )
            addresses[f"A-{next(numbers)}"] = {
                "customer_id": customer_id,
                "street": street,
                "city": city,
                "zip": zip_code,
            }
        for last4 in rng.sample(range(1000, 9999), rng.choice(_CARDS)):
            payments[f"PM-{next(numbers)}"] = {
                "customer_id": customer_id,
                "kind": "card",
                "last4": str(last4),
            }
        if rng.random() < 0.4:
            payments[f"PM-{next(numbers)}"] = {
                "customer_id": customer_id,
                "kind": "gift_balance",
                "last4": "",
            }
        tickets[f"T-{10_000 + index}"] = {
            "customer_id": customer_id,
            "subject": "contact",
            "status": "open",
        }
        notes[f"N-T-{10_000 + index}.0"] = {
            "ticket_id": f"T-{10_000 + index}",
            "text": rng.choice(_NOTES),
            "created": "",
        }
    return {
        "customers": customers,
        "addresses": addresses,
        "payments": payments,
        "tickets": tickets,
        "notes": notes,
    }
