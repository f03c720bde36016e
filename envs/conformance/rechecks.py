"""A recorded trajectory, checked again, gets the verdict that it had."""

from synth.envs.conformance.experts import players
from synth.envs.conformance.finding import ConformanceRig, Finding, part
from synth.envs.transcript import Transcript, play
from synth.schemas.outcome import Outcome, Termination
from synth.schemas.task import Task
from synth.schemas.trajectory import Trajectory, Turn


@part("recheck")
async def recheck_repeats_the_verdict(bench: ConformanceRig) -> Finding:
    """The verdict of `recheck` on each policy's episode is that of `check` at its end."""
    for task in bench.tasks:
        for who, choose in players(bench.world.spec).items():
            env, other = bench.open(), bench.open()
            transcript = await play(env, task, choose, seed=bench.seed, max_turns=30)
            bench.note(f"recheck of an episode of {who}")
            again = await other.recheck(task, _recorded(task, transcript))
            await env.close()
            await other.close()
            if (again.passed, again.parts) != (transcript.verdict.passed, transcript.verdict.parts):
                return Finding(
                    False,
                    f"task {task.task_id} by {who}: {transcript.verdict} then {again}"[:400],
                )
    return Finding(True)


def _recorded(task: Task, transcript: Transcript) -> Trajectory:
    """The transcript as a ledger would hold it."""
    done = bool(transcript.responses) and transcript.responses[-1].done
    outcome = (
        (Outcome.SUCCESS if transcript.verdict.passed else Outcome.FAILURE)
        if done
        else Outcome.TRUNCATED
    )
    turns = tuple(
        Turn(
            index,
            action.content,
            action.tool_calls,
            response.observations,
            state_key=response.state_key,
        )
        for index, (action, response) in enumerate(
            zip(transcript.actions, transcript.responses, strict=True)
        )
    )
    return Trajectory(
        trajectory_id="bench",
        slot_id="bench",
        attempt=0,
        task_id=task.task_id,
        env=task.env,
        trial=0,
        synthesizer="conformance",
        policy="conformance",
        outcome=outcome,
        termination=Termination.DONE if done else Termination.TURN_LIMIT,
        system_prompt=transcript.opening.system_prompt,
        tools=transcript.opening.tools,
        opening=transcript.opening.observations,
        opening_state_key=transcript.opening.state_key,
        turns=turns,
        check_result=transcript.verdict,
    )
