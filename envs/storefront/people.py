"""Customers with addresses, payment methods and one open ticket each; some share a surname, some have two accounts."""

from random import Random

from envs.storefront.catalogue import Row, Rows
from envs.storefront.rules import TIERS

_FIRST = (
    *("Ada", "Bela", "Chen", "Dora", "Eli", "Finn", "Gita", "Hugo", "Ines", "Jana", "Karl", "Lena", "Milo"),
    *("Nora", "Omar", "Pia", "Quinn", "Rosa", "Sami", "Tess", "Uma", "Vera", "Wim", "Xena", "Yara", "Zoe"),
)
_LAST = ["Abbott", "Brook", "Castle", "Dunn", "Ellis", "Frost", "Grant", "Hayes", "Irwin", "Jensen", "Keller", "Larsen", "Moss"]
_CITIES = ("Leeds", "Porto", "Ghent", "Turin", "Malmo", "Basel", "Cork", "Graz")
_STREETS = ("Mill Lane", "High Street", "Park Road", "Station Road", "Church Walk", "Bridge Street")
_NOTES = ("Prefers email.", "Called about a delivery in spring.", "Nothing noted.")
SECOND_ACCOUNT_SHARE = 0.1


def draw_people(rng: Random, count: int) -> dict[str, Rows]:
    """Tables customers, addresses, payments, tickets and notes; each of a customer's two addresses is in another city."""
    customers: Rows = {}
    addresses: Rows = {}
    payments: Rows = {}
    tickets: Rows = {}
    notes: Rows = {}
    names = [(first, last) for first in _FIRST for last in _LAST]
    rng.shuffle(names)
    numbers = iter(rng.sample(range(10_000, 99_999), 6 * count))
    person: Row = {}
    for index in range(count):
        customer_id = f"C-{next(numbers)}"
        if index == 0 or rng.random() >= SECOND_ACCOUNT_SHARE:
            first, last = names[index]
            person = {"name": f"{first} {last}", "zip": str(rng.randrange(10_000, 99_999)), "city": rng.choice(_CITIES)}
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
        cities = [person["city"], *rng.sample([city for city in _CITIES if city != person["city"]], rng.choice((1, 2)))]
        for city in cities:
            street = f"{rng.randrange(1, 99)} {rng.choice(_STREETS)}"
            zip_code = person["zip"] if city == person["city"] else str(rng.randrange(10_000, 99_999))
            addresses[f"A-{next(numbers)}"] = {"customer_id": customer_id, "street": street, "city": city, "zip": zip_code}
        payments[f"PM-{next(numbers)}"] = {"customer_id": customer_id, "kind": "card", "last4": str(rng.randrange(1000, 9999))}
        if rng.random() < 0.4:
            payments[f"PM-{next(numbers)}"] = {"customer_id": customer_id, "kind": "gift_balance", "last4": ""}
        tickets[f"T-{10_000 + index}"] = {"customer_id": customer_id, "subject": "contact", "status": "open"}
        notes[f"N-T-{10_000 + index}.0"] = {"ticket_id": f"T-{10_000 + index}", "text": rng.choice(_NOTES), "created": ""}
    return {"customers": customers, "addresses": addresses, "payments": payments, "tickets": tickets, "notes": notes}
