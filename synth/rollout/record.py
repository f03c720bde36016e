"""What is recorded of an attempt: each turn with what the world answered, and in the end the
trajectory.
"""

from datetime import UTC, datetime

from msgspec.structs import replace

from synth.boundary import FaultError
from synth.models.reply_health import mask_of
from synth.rollout.answers import storable
from synth.rollout.episode import EpisodeSpec
from synth.rollout.start import ForcedAct
from synth.schemas import (
    Act,
    CheckResult,
    Guidance,
    Opening,
    Planted,
    Response,
    Termination,
    Trajectory,
    Turn,
    Usage,
    settle,
    trajectory_id,
    valid_text,
)
from synth.text.calls.found import MARKUP, UNREAD


def recorded_turn(index: int, act: Act, response: Response) -> Turn:
    """The turn of an act; calls with broken arguments and replies that were cut off or filtered are
    masked.
    """
    turn = storable(act.turn, "content", "thought")
    calls = tuple(
        storable(call, "call_id", "name", "arguments", "parse_error") for call in turn.tool_calls
    )

    broken = any(call.parse_error is not None for call in turn.tool_calls)

    return Turn(
        index,
        turn.content,
        calls,
        response.observations,
        turn.thought,
        state_key=response.state_key,
        reward=response.reward,
        sampled_by=act.sampled_by,
        mask="parse_error" if broken else mask_of(act.finish_reason) or _markup(act),
        usage=act.usage,
        latency_ms=act.latency_ms,
        prompt_token_ids=act.prompt_token_ids,
        completion_token_ids=act.completion_token_ids,
        logprobs=act.logprobs,
        repairs=act.repairs,
        raw=valid_text(act.raw) if act.raw is not None else None,
    )


def _markup(act: Act) -> str | None:
    """The mask of a turn whose text holds what marks calls, and is none that was read."""
    return "call_markup" if {UNREAD, MARKUP} & set(act.repairs) else None


def placed_turn(index: int, placed: ForcedAct, response: Response) -> Turn:
    """A turn put in the policy's place. Raises `ValueError` where altered answers are not as many
    as the world's.
    """
    given = response.observations
    if placed.alter is not None:
        observations = [
            new if new == old else replace(new, planted=Planted(old.content, old.error))
            for old, new in zip(given, placed.alter(given), strict=True)
        ]
        response = replace(response, observations=tuple(observations))

    turn = recorded_turn(index, placed.act, response)
    return replace(turn, mask=placed.mask or turn.mask, injected=placed.injected)


def unwhispered(act: Act, guidance: Guidance | None) -> Act:
    """An act without the token ids and log-probabilities that stand on a prompt with guidance in
    it: the transcript has none.
    """
    if guidance is None:
        return act
    return replace(act, prompt_token_ids=None, logprobs=None)


class EpisodeRecord:
    """What an attempt has come to so far; it survives the fault that ends it."""

    def __init__(self) -> None:
        self.opening = Opening(None, (), ())
        self.turns: list[Turn] = []
        self.unanswered: Turn | None = None
        self.weights: set[str] = set()
        self.check: CheckResult | None = None
        self.reward: float | None = None
        self.user_totals = Usage()

    def trajectory(
        self,
        work: EpisodeSpec,
        attempt: int,
        termination: Termination,
        error: FaultError | None = None,
    ) -> Trajectory:
        """The attempt as a ledger holds it."""
        start = work.start
        fault = error.fault if error is not None else None
        check = self.check if error is None else None

        turns = (*self.turns, *([self.unanswered] if self.unanswered is not None else []))
        mixed = "mixed" if self.weights else None

        return Trajectory(
            trajectory_id=trajectory_id(work.slot_id, attempt),
            slot_id=work.slot_id,
            attempt=attempt,
            task_id=work.task.task_id,
            env=work.task.env,
            trial=work.trial,
            synthesizer=work.synthesizer,
            policy=work.policy.name,
            role=work.role,
            outcome=settle(termination, check.passed if check is not None else None, fault),
            termination=termination,
            parent_id=start.trajectory.trajectory_id if start is not None else None,
            pivot_turn=start.turn if start is not None else None,
            gold_informed=work.gold_informed,
            guidance=work.guidance,
            model=work.policy.model,
            weights_id=self.weights.pop() if len(self.weights) == 1 else mixed,
            sampling=work.policy.sampling,
            seed=work.seed,
            system_prompt=self.opening.system_prompt,
            tools=self.opening.tools,
            opening=self.opening.observations,
            opening_state_key=self.opening.state_key,
            turns=turns,
            reward=self.reward if error is None else None,
            fault=fault,
            fault_detail=error.detail if error is not None else None,
            check_result=check,
            authorship=work.policy.authorship,
            totals=sum((turn.usage for turn in turns if turn.usage is not None), Usage()),
            user_model=work.user.name if work.user is not None else None,
            user_totals=self.user_totals,
            created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            benchmark=work.task.benchmark,
            split=work.task.split,
        )
