"""A solved episode, as its mutants are made from it."""

from collections.abc import Sequence

from synth.envs.storefront.audit.edits import Recorded
from synth.envs.storefront.tools.transcript import Exchange
from synth.envs.storefront.world.world import BaseWorld
from synth.schemas.check import Check
from synth.schemas.task import Task


class Solution(Recorded):
    """A solved episode: what was done, its task's check, the world at the start, and the orders of
    other customers.
    """

    def __init__(self, task: Task, exchanges: Sequence[Exchange], base: BaseWorld) -> None:
        super().__init__(exchanges)
        self.check = task.check or Check()
        self.base = base
        own = {*base.customers_by["name"].get(str(task.script.get("name")), ())}

        self.strange = {
            key: row["status"]
            for key, row in base.tables["orders"].items()
            if own.isdisjoint((row["customer_id"], row["recipient_id"]))
        }

    def strangers(self, status: str) -> list[str]:
        """The orders of other customers that are in this status."""
        return [key for key, found in self.strange.items() if found == status]

    def requires(self, order_id: str, column: str) -> bool:
        """Whether the check wants a value of this column for an order."""
        return any(
            column in row.where
            and order_id in (str(value).partition(".")[0] for value in row.where.values())
            for row in self.check.required
        )
