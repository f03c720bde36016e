"""What is measured of the kept retries of one shard: the gain of their guidance, and whether the
unguided policy would have begun so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from synth.engine.context import Role, Run
from synth.models.admission import ConcurrencyLimit
from synth.schemas.errors import ConfigError
from synth.schemas.model import ScoringModel
from synth.side_by_side import run_workers
from synth.synthesizers.reflection.chain import Chain
from synth.synthesizers.reflection.likelihood import gain_of
from synth.synthesizers.reflection.off_policy import Unguided
from synth.synthesizers.reflection.playing import ASKED_AT_ONCE
from synth.synthesizers.reflection.retry_work import RetryWork


def how_measured(scorer: tuple[str, Role] | None, samples: int) -> Mapping[str, Any]:
    """By what a chain says how it was measured."""
    return {
        "scorer": None if scorer is None else scorer[1].policy.model,
        "off_policy_samples": samples,
    }


class Measuring:
    """By which scoring model (its role's name, the role), and how many samples of the unguided
    policy.
    """

    def __init__(
        self,
        run: Run,
        shard: str,
        make: RetryWork,
        places: ConcurrencyLimit,
        *,
        scorer: tuple[str, Role] | None,
        samples: int,
    ) -> None:
        self._run = run
        self._scorer = scorer
        self._how = how_measured(scorer, samples)
        self._unguided = Unguided(
            run,
            shard,
            make.role_name,
            make.role,
            limits=make.limits,
            places=places,
            seed=make.seed,
            samples=samples,
        )

    async def measure(self, chains: Sequence[Chain]) -> None:
        """Scores and tags the kept retries; a chain that a ceiling kept from it stays
        unmeasured.
        """
        kept = [chain for chain in chains if chain.kept is not None]
        scorer = self._scoring() if kept else None
        retries = [chain.kept for chain in kept if chain.kept is not None]
        waiting = iter(kept)

        async def worker() -> None:
            for chain in waiting:
                if chain.kept is None or chain.task is None or not self._run.may_start():
                    return
                gain = await gain_of(
                    self._run, scorer, chain.kept, retries, chain.key, self._how["scorer"]
                )
                tagged = await self._unguided.tag(
                    chain.kept, chain.retries[-1].of, chain.task, chain.key
                )
                if not tagged.open:
                    chain.measures, chain.measured = [gain, tagged.score], self._how
                    chain.replies += tagged.replies

        for chain in chains:
            if chain.kept is None:
                chain.measured = self._how
        await run_workers(min(ASKED_AT_ONCE, max(1, len(kept))), worker)

    def _scoring(self) -> ScoringModel | None:
        """The model that gives probabilities; None where the flow names none, or one whose engine
        gives none.
        """
        if self._scorer is None or self._scorer[1].open_scoring is None:
            return None
        try:
            return self._run.scoring(self._scorer[0], self._scorer[1].open_scoring)
        except ConfigError as error:
            line = f"likelihood leak: {error}"
            if line not in self._run.told_faults:
                self._run.told_faults.add(line)
                self._run.progress.say(line)
            return None
