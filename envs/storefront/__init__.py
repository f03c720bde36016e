"""The embedded default world: a support desk with policies, a rule-based customer and gold checks."""

from envs.storefront.config import StorefrontConfig
from envs.storefront.env import SPEC, open_storefront
from envs.storefront.levels import make_tasks
from envs.storefront.reverse_goals import write_goal
from envs.storefront.reverse_trials import BOTS, alternatives, exploring, mutants
from envs.storefront.user_prompt import USER
from envs.world import World

WORLD = World(
    spec=SPEC,
    open=open_storefront,
    make_tasks=make_tasks,
    config=StorefrontConfig,
    level="level",
    user=USER,
    write_goal=write_goal,
    exploring=exploring,
    bots=BOTS,
    mutants=mutants,
    alternatives=alternatives,
)
