"""The embedded default world: a support desk with policies, a rule-based customer and gold checks."""

from envs.storefront.config import StorefrontConfig
from envs.storefront.env import SPEC, open_storefront
from envs.storefront.levels import make_tasks
from envs.storefront.reverse_goals import write_goal
from envs.storefront.reverse_look_ups import LOOK_UPS
from envs.storefront.reverse_notes import NOTES
from envs.storefront.reverse_questions import elsewhere
from envs.storefront.reverse_trials import BOTS, alternatives, exploring, mutants
from envs.storefront.user_prompt import USER
from envs.world import Questions, World

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
    on_request=NOTES,
    questions=Questions(LOOK_UPS, elsewhere),
)
