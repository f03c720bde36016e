"""`synth show` and `synth diff`: one trajectory, readable; two, the divergence marked."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from synth.cli.options import command, open_run, warn
from synth.schemas import SPACING, ascii_json, printable

if TYPE_CHECKING:
    from synth import Observation, Trajectory, Turn


@command
def show(run: str, identity: str, prompt: bool, as_json: bool) -> None:
    """Read one trajectory; ID may be the beginning of an id.

    \b
    Example:  synth show runs/quickstart 3f2a
    """
    import msgspec

    trajectory = open_run(run).trajectory(identity)
    if as_json:
        shown = {"system_prompt": trajectory.system_prompt, "tools": trajectory.tools}
        click.echo(ascii_json(msgspec.json.encode(shown if prompt else trajectory)))
        return
    for line in prompt_lines(trajectory) if prompt else readable(trajectory):
        click.echo(printable(line, SPACING) if prompt else line)


@command
def diff(run: str, first: str, second: str) -> None:
    """Compare two trajectories: the first turn in which they differ, and both from there on.

    \b
    Example:  synth diff runs/quickstart 3f2a 91bc
    """
    from synth import diff as compared

    ledger = open_run(run)
    left, right = ledger.trajectory(first), ledger.trajectory(second)
    if left.task_id != right.task_id:
        tasks = f"{left.task_id} and {right.task_id}"
        warn(f"attempts at different tasks, {tasks}: what differs says little about the agents")
    found = compared(ledger, left.trajectory_id, right.trajectory_id)
    if found is None:
        click.echo(f"the same to the last observation ({len(left.turns)} turns)")
        return
    place = "the opening" if found.turn is None else f"turn {found.turn}"
    head = f"{place}: the {printable(found.what)} differs; what comes before is the same"
    click.echo(click.style(head, bold=True))
    for trajectory, colour in ((left, "red"), (right, "green")):
        head = printable(f"{trajectory.trajectory_id}  {trajectory.outcome}")
        click.echo("\n" + click.style(head, fg=colour, bold=True))
        for turn in trajectory.turns[found.turn or 0 :]:
            for line in turn_lines(turn):
                click.echo(line)


def prompt_lines(trajectory: "Trajectory") -> Iterator[str]:
    """The system prompt as it stands, then each tool's schema as JSON."""
    yield "(no system prompt)" if trajectory.system_prompt is None else trajectory.system_prompt
    yield ""
    for tool in trajectory.tools:
        yield ascii_json(json.dumps(tool, indent=2))
    if not trajectory.tools:
        yield (
            "(no tools)" if trajectory.synthesizer != "import" else "(the source recorded no tools)"
        )


def readable(trajectory: "Trajectory") -> Iterator[str]:
    """Lines for a person: who it is, what was said and done, how it ended and why."""
    t = trajectory
    yield click.style(printable(f"trajectory {t.trajectory_id}"), bold=True)
    by = f"{t.synthesizer} by {t.policy}" + (f" ({t.model})" if t.model else "")
    yield printable(f"task {t.task_id}  env {t.env}  trial {t.trial}  attempt {t.attempt}  {by}")
    if t.parent_id is not None:
        yield printable(
            f"continues {t.parent_id} from turn {t.pivot_turn}"
            + (", by somebody who saw gold" if t.gold_informed else "")
        )
    for observation in t.opening:
        yield from _observation(observation)
    for turn in t.turns:
        if t.guidance is not None and turn.index == (t.pivot_turn or 0):
            yield click.style(
                "\n"
                + _indented("guided", f"{t.guidance}\n(whispered from here on; in no transcript)"),
                dim=True,
            )
        yield from turn_lines(turn)
    yield from _ended(t)


def _ended(t: "Trajectory") -> Iterator[str]:
    """How a trajectory ended, and what its check said."""
    yield ""
    verdict = f"{t.outcome}, ended by {t.termination}" + (
        f", reward {t.reward:g}" if t.reward is not None else ""
    )
    yield click.style(
        verdict, bold=True, fg={"success": "green", "failure": "red"}.get(t.outcome, "yellow")
    )
    if t.fault is not None:
        yield printable(f"fault at the {t.fault} boundary: {t.fault_detail}")
    for part in t.check_result.parts if t.check_result is not None else ():
        said = {True: "passed", False: "FAILED", None: "undefined"}[part.passed]
        yield f"  {said}  {printable(part.name)}" + "".join(
            f"\n          {printable(line, SPACING)}" for line in part.evidence
        )


def turn_lines(turn: "Turn") -> Iterator[str]:
    """One turn: the agent's part, then what the world answered."""
    who = turn.sampled_by if turn.sampled_by != "policy" else None
    what = f"put here: {turn.injected}" if turn.injected is not None else None
    notes = [
        note
        for note in (turn.agent, who, what, f"masked: {turn.mask}" if turn.mask else None)
        if note
    ]
    yield ""
    yield click.style(f"[{turn.index}]", bold=True) + (
        f" ({printable(', '.join(notes))})" if notes else ""
    )
    if turn.thought:
        yield click.style(_indented("thinks", turn.thought), dim=True)
    if turn.content:
        yield _indented("agent", turn.content)
    for call in turn.tool_calls:
        yield _indented("calls", f"{call.name} {call.arguments}") + (
            f"   <- {printable(call.parse_error)}" if call.parse_error else ""
        )
    for observation in turn.observations:
        yield from _observation(observation)


def _observation(observation: "Observation") -> Iterator[str]:
    label = {"tool": "tool", "user": "user", "environment": "world"}[observation.source]
    if observation.error and label == "tool":
        label = "error"
    yield click.style(
        _indented(label, observation.content),
        fg="red" if observation.error else "cyan" if label == "user" else None,
    )
    if observation.planted is not None:
        yield click.style(
            _indented("", f"(planted; the world had answered: {observation.planted.content})"),
            dim=True,
        )
    if (wording := observation.wording) is not None:
        lines = [
            f"({wording.model} was turned down: "
            f"{', '.join(dict.fromkeys(deviation.kind for deviation in one.deviations))}: "
            f"{one.text})"
            for one in wording.turned_down
        ]
        last = (
            "the scripted words, for no wording would do"
            if wording.fell_back
            else f"worded by {wording.model}; the script: {wording.scripted}"
        )
        yield click.style(_indented("", "\n".join([*lines, f"({last})"])), dim=True)


def _indented(label: str, text: str) -> str:
    first, *rest = (printable(line, SPACING) for line in text.splitlines() or [""])
    return "\n".join([f"  {label:<7} {first}", *(f"          {line}" for line in rest)])
