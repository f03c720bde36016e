"""The customer of an exploration: somebody with many orders, who asks for nothing, answers what
they are asked, and agrees.
"""

from random import Random

from synth.envs.storefront.customer.script import Script
from synth.envs.storefront.world.world import BaseWorld

SHARE = 4
"""One in so many customers is somebody with many orders: with those of two worlds every kind of
write can be made (measured).
"""


def passer_by(base: BaseWorld) -> Script:
    """One of the customers with the most orders, by the world's seed; they know a coupon."""
    rng = Random(f"storefront/passer-by/{base.seed}")
    most = sorted(base.orders_of, key=lambda key: (-len(base.orders_of[key]), key))
    customer = base.tables["customers"][rng.choice(most[: max(len(most) // SHARE, 1)])]
    slots = {name: customer[name] for name in ("email", "phone", "zip")}
    return Script(
        name=customer["name"],
        slots={**slots, "coupon": rng.choice(sorted(base.tables["coupons"]))},
        stated=("email",),
    )


def first_words(passer: Script) -> str:
    """What they say."""
    return f"Hello, this is {passer.name}. My email is {passer.slots['email']}."
