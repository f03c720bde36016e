"""Customers with addresses, payment methods and one open ticket each.

Families share a surname, and some people have two accounts.
"""

from random import Random

from synth.envs.storefront.texts import texts
from synth.envs.storefront.world.catalogue import Row, Rows
from synth.envs.storefront.world.policy import TIERS

_DRAWN = texts("customers")
PROPER_NAMES = frozenset(
    word
    for kind in ("first", "last", "cities", "streets")
    for name in _DRAWN[kind]
    for word in name.split()
)
"""Every word that customers, cities and streets of any world are called by."""

SECOND_ACCOUNT_SHARE = 0.1
SMALLEST_FAMILY, LARGEST_FAMILY = 2, 4
"""Customers who share a surname; the two accounts of one person are two customers."""

_HOUSES = [f"{number} {street}" for number in range(1, 99) for street in _DRAWN["streets"]]


def _families(rng: Random, count: int) -> list[list[int]]:
    """Draws how many accounts each person has, family by family.

    They sum up to `count`, and one person in ten has two.
    """
    # people, not accounts: of eleven accounts one is somebody's second
    second = round(count * SECOND_ACCOUNT_SHARE / (1 + SECOND_ACCOUNT_SHARE))
    families: list[list[int]] = []
    left = count - second

    while left:
        # a size that leaves a single person over would leave a family of one
        sizes = [
            size
            for size in range(SMALLEST_FAMILY, LARGEST_FAMILY + 1)
            if left - size not in (-2, -1, 1) and size <= left
        ]

        families.append([1] * rng.choice(sizes))
        left -= len(families[-1])

    roomy = [family for family in families if len(family) < LARGEST_FAMILY]

    for family in rng.sample(roomy, min(second, len(roomy))):
        family[0] = 2
        second -= 1

    return families if not second else _families(rng, count)


def _people(rng: Random, count: int) -> list[Row]:
    """Draws name, zip and home town of the person behind each account, in no order."""
    accounts: list[Row] = []
    surnames = rng.sample(_DRAWN["last"], len(_DRAWN["last"]))

    for last, family in zip(surnames, _families(rng, count), strict=False):
        first_names = rng.sample(_DRAWN["first"], len(family))

        for first, held in zip(first_names, family, strict=True):
            code = str(rng.randrange(10_000, 99_999))
            person = {"name": f"{first} {last}", "zip": code, "city": rng.choice(_DRAWN["cities"])}
            accounts += [person] * held

    rng.shuffle(accounts)

    return accounts


def draw_customers(rng: Random, count: int) -> dict[str, Rows]:
    """Draws the tables customers, addresses, payments, tickets and notes.

    A customer lives in one city and has addresses in one or two others.
    """
    names = ("customers", "addresses", "payments", "tickets", "notes")
    tables: dict[str, Rows] = {name: {} for name in names}
    numbers = iter(rng.sample(range(10_000, 99_999), 16 * count))

    for index, person in enumerate(_people(rng, count)):
        customer_id = f"C-{next(numbers)}"
        owned = {"customer_id": customer_id}
        tables["customers"][customer_id] = _customer(rng, person, index)

        for street, city in _homes(rng, person["city"]):
            at_home = city == person["city"]
            code = person["zip"] if at_home else str(rng.randrange(10_000, 99_999))
            row = {**owned, "street": street, "city": city, "zip": code}
            tables["addresses"][f"A-{next(numbers)}"] = row

        for way in _means(rng):
            tables["payments"][f"PM-{next(numbers)}"] = {**owned, **way}

        ticket_id = f"T-{10_000 + index}"
        ticket = {**owned, "subject": "contact", "status": "open"}
        note = {"ticket_id": ticket_id, "text": rng.choice(_DRAWN["notes"]), "created": ""}
        tables["tickets"][ticket_id] = ticket
        tables["notes"][f"N-{ticket_id}.0"] = note

    return tables


def _customer(rng: Random, person: Row, index: int) -> Row:
    """Draws the row of the account with this number."""
    mailbox = person["name"].lower().replace(" ", ".")

    return {
        "name": person["name"],
        "email": f"{mailbox}{rng.randrange(10, 99)}{index}@mail.example",
        "phone": f"555-{rng.randrange(100, 999)}-{1000 + index * 7}",
        "zip": person["zip"],
        "tier": rng.choice(TIERS),
        "credit_cents": rng.randrange(0, 40) * 100,
        "gift_cents": rng.randrange(0, 20) * 100,
    }


def _means(rng: Random) -> list[Row]:
    """Draws a customer's cards, and whether they have a gift balance."""
    cards = rng.sample(range(1000, 9999), rng.choice(_DRAWN["cards"]))
    ways = [{"kind": "card", "last4": str(last4)} for last4 in cards]

    return ways + [{"kind": "gift_balance", "last4": ""}] * (rng.random() < 0.4)


def _homes(rng: Random, home: str) -> list[tuple[str, str]]:
    """Draws (street, city) of a customer's addresses, the one at home first."""
    others = [city for city in _DRAWN["cities"] if city != home]
    elsewhere = rng.sample(others, rng.choice((1, 2)))
    cities = [home, *[elsewhere[0]] * rng.choice(_DRAWN["neighbouring"]), *elsewhere[1:]]

    return list(zip(rng.sample(_HOUSES, len(cities)), cities, strict=True))
