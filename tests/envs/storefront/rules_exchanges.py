"""Exchanges in which a rule is kept or broken."""

from tests.envs.storefront.transcripts import (
    BASE,
    orders,
)

PENDING, OTHER_PENDING = orders(status="pending")[:2]


OWNER = BASE.tables["orders"][PENDING]["customer_id"]


DELIVERED = orders(status="delivered")[0]
