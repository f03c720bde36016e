"""What a made task is, counted from its world."""

from synth.envs.storefront import WORLD
from synth.envs.storefront.world.config import validated
from synth.envs.storefront.world.world import BaseWorld, world_of
from synth.schemas.task import Task

TASKS = [
    *WORLD.make_tasks({}, 111, 70),
    *WORLD.make_tasks({"page_size": 2, "relation_share": 0.4}, 112, 20),
]


def world(task: Task) -> BaseWorld:
    return world_of(validated(task.env_config))


def speaker(task: Task) -> str:
    base, slots = world(task), task.script["slots"]
    found = [
        key
        for key, row in base.tables["customers"].items()
        if (row["name"], slots.get("email", row["email"])) == (task.script["name"], row["email"])
    ]
    phone = slots.get("phone")
    return next(
        key for key in found if phone is None or base.tables["customers"][key]["phone"] == phone
    )


def item(base: BaseWorld, line: str) -> tuple[str, str]:
    variant = base.tables["variants"][base.tables["lines"][line]["sku"]]
    return variant["colour"], base.tables["products"][variant["product_id"]]["noun"]
