"""The embedded default world: a support desk with policies, a rule-based customer and gold
checks.
"""

from synth.envs.storefront.audit.alternatives import alternatives
from synth.envs.storefront.audit.mutants import mutants
from synth.envs.storefront.customer.user_prompt import USER
from synth.envs.storefront.env import SPEC, open_storefront
from synth.envs.storefront.reverse.rewording import reworded
from synth.envs.storefront.reverse.trials import BOTS, elsewhere, exploring
from synth.envs.storefront.reverse.write_goal import LOOK_UPS, NOTES, write_goal
from synth.envs.storefront.tasks.make_tasks import make_tasks
from synth.envs.storefront.world.config import StorefrontConfig
from synth.envs.world import EnvEntry, Questions

WORLD = EnvEntry(
    spec=SPEC,
    open=open_storefront,
    make_tasks=make_tasks,
    config=StorefrontConfig,
    level="level",
    user=USER,
    write_goal=write_goal,
    reword=reworded,
    exploring=exploring,
    bots=BOTS,
    mutants=mutants,
    alternatives=alternatives,
    on_request=NOTES,
    questions=Questions(LOOK_UPS, elsewhere),
)
