"""The filter rank_surprisal end to end: storefront trajectories under a small model in this
process, its ratios against plain logits.
"""

import asyncio
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from synth.cli.rank import rank
from synth.engine.progress import PlainProgress
from synth.flows.curate import curate
from synth.flows.synthesize import synthesize
from synth.ledger.ledger import StageRef, StoredLedger
from synth.ledger.log.manifest import StageLine
from synth.ledger.views import connect
from synth.schemas.errors import ConfigError, SynthError
from synth.schemas.flow import Flow
from synth.schemas.text.messages import to_messages
from synth.schemas.trajectory import Authorship, Trajectory
from tests.random_model import TEMPLATE


def flow(student: Path | str | None, **settings: Any) -> Flow:
    models: dict[str, Any] = {"explorer": {"policy": "expert", "profiles": "mixed"}}
    if student is not None:
        models["student"] = {"engine": "transformers", "model": str(student)}
    stages: list[Any] = [{"rollout": {"trials": 2}}]
    stages += [{"filter": [{"rank_surprisal": settings}]}] if student is not None else []
    env = {"name": "storefront", "tasks": 2}
    return Flow.model_validate(
        {"name": "student", "seed": 3, "env": env, "models": models, "stages": stages}
    )


def taken(
    tmp_path: Path, change: Callable[[Trajectory, int], Trajectory] = lambda one, at: one
) -> str:
    """A ledger with storefront trajectories as if two models had played them: two trials of two
    tasks.
    """
    source, _ = asyncio.run(
        synthesize(flow(None), str(tmp_path / "source"), PlainProgress(StringIO()))
    )
    ledger = StoredLedger(str(tmp_path / "run"), create=True)
    played = [
        change(msgspec.structs.replace(one, authorship=Authorship.MODEL, model=f"m{at % 2}"), at)
        for at, one in enumerate(source.ledger.trajectories())
    ]
    ledger.commit(StageRef("import", "k"), trajectories=played)
    ledger.begin_stage(StageLine("import", "k", {}, ""))
    return ledger.storage.url


def curated(url: str, student: Path, **settings: Any) -> Any:
    return asyncio.run(curate(flow(student, **settings), url, PlainProgress(StringIO())))[0]


def scores(run: Any) -> dict[str, dict[str, tuple[float | None, Any]]]:
    found: dict[str, dict[str, tuple[float | None, Any]]] = {}
    with connect(run.ledger) as connection:
        for subject, metric, value, detail in connection.execute(
            "SELECT subject_id, metric, value, detail FROM scores"
        ).fetchall():
            found.setdefault(subject, {})[metric] = (value, json.loads(detail) if detail else {})
    return found


def verdicts(run: Any) -> set[tuple[bool | None, str]]:
    with connect(run.ledger) as connection:
        return set(connection.execute("SELECT keep, reason FROM decisions").fetchall())


def in_full(folder: Path, trajectory: Trajectory) -> tuple[float, float, int]:
    """Sum of capped ranks, of surprisals, and tokens: all logits at once, the mask of transformers'
    own tokenizer.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    weights = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    messages = [
        {key: value for key, value in message.items() if value is not None}
        for message in to_messages(trajectory)
    ]
    for message in messages:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    shown = tokenizer.apply_chat_template(
        messages, tools=list(trajectory.tools), return_dict=True, return_assistant_tokens_mask=True
    )
    ids, end = shown["input_ids"], tokenizer.convert_tokens_to_ids("<|im_end|>")
    places = [i for i, mark in enumerate(shown["assistant_masks"]) if mark and ids[i] != end]
    with torch.no_grad():
        before = weights(torch.tensor([ids])).logits[0, [i - 1 for i in places]].double()
    chosen = before.gather(1, torch.tensor([ids[i] for i in places])[:, None])
    ranks = (before > chosen).sum(1) + 1
    return (
        float(ranks.clamp(max=100).sum()),
        float((before.logsumexp(1) - chosen[:, 0]).sum()),
        len(places),
    )


def test_storefront_trajectories_get_the_ratio_of_plain_logits_with_tools_rendered(
    random_model: Path, tmp_path: Path
) -> None:
    def masked(one: Trajectory, at: int) -> Trajectory:
        return msgspec.structs.replace(
            one, turns=(msgspec.structs.replace(one.turns[0], mask="test"), *one.turns[1:])
        )

    run = curated(taken(tmp_path, masked), random_model)
    found = scores(run)
    assert len(found) == 4
    for trajectory in run.ledger.trajectories():
        rank, nll, tokens = in_full(random_model, trajectory)
        measures = found[trajectory.trajectory_id]
        assert measures["n_scored_tokens"][0] == tokens > 50
        assert measures["rsr"][0] == pytest.approx(rank / nll, rel=1e-4)
        assert measures["avg_rank_clip"][0] == pytest.approx(rank / tokens, rel=1e-3)
        assert measures["avg_nll"][0] == pytest.approx(nll / tokens, rel=1e-4)
        detail = measures["rsr"][1]
        assert (detail["student"], detail["tools_rendered"], len(detail["template_hash"]) > 8) == (
            str(random_model),
            True,
            True,
        )
        assert detail["weights_id"].endswith("+float32")
        assert len(detail["turns"]) == len(trajectory.turns)
        assert detail["loss_tokens"] == tokens - detail["turns"][0][2], "the first turn is masked"
        value, decision = measures["rsr_decision"]
        assert value is not None
        assert 0 < decision["tokens"] < tokens
        assert 0 < detail["copied_share"] < 1
    assert verdicts(run) == {(None, "scored")}


def test_other_thresholds_score_nothing_again_and_sources_are_ranked(
    random_model: Path, tmp_path: Path
) -> None:
    url = taken(tmp_path)
    before = scores(curated(url, random_model))
    weights = random_model / "model.safetensors"
    gone = weights.rename(tmp_path / "gone")
    try:
        run = curated(url, random_model, select=True, errors=3)
    finally:
        gone.rename(weights)
    assert scores(run) == before, "no model was loaded"
    assert {reason for _, reason in verdicts(run)} <= {
        "rsr_tie",
        "lowest_rsr",
        "higher_rsr",
        "not_a_candidate",
    }
    table = CliRunner().invoke(rank, [url], catch_exceptions=False).output
    assert table.startswith(f"rank-surprisal ratio under {random_model}")
    assert "m0 " in table
    assert "m1 " in table
    told = json.loads(CliRunner().invoke(rank, [url, "--json"], catch_exceptions=False).output)
    (first, second) = told["sources"]
    sums = {name: [0.0, 0.0] for name in ("m0", "m1")}
    for trajectory in run.ledger.trajectories():
        rank_sum, nll_sum, tokens = (
            sum(part)
            for part in zip(*before[trajectory.trajectory_id]["rsr"][1]["turns"], strict=True)
        )
        sums[str(trajectory.model)][0] += rank_sum / tokens
        sums[str(trajectory.model)][1] += nll_sum / tokens
    for source in (first, second):
        assert source["ratio"]["value"] == pytest.approx(
            sums[source["name"]][0] / sums[source["name"]][1]
        )
    assert first["ratio"]["value"] <= second["ratio"]["value"]
    with pytest.raises(ConfigError, match="measured under others"):
        CliRunner().invoke(rank, [url, "--student", "nobody"], catch_exceptions=False)


def test_what_cannot_be_scored_says_why(random_model: Path, tmp_path: Path) -> None:
    def broken(one: Trajectory, at: int) -> Trajectory:
        if at == 0:
            return msgspec.structs.replace(one, turns=())
        if at == 1:
            return msgspec.structs.replace(one, authorship=Authorship.SCRIPTED)
        return msgspec.structs.replace(one, system_prompt="so " * 40_000) if at == 2 else one

    run = curated(taken(tmp_path, broken), random_model)
    assert verdicts(run) == {
        (None, "no_turns"),
        (None, "scripted"),
        (None, "too_long"),
        (None, "scored"),
    }


def test_a_template_that_hides_the_tools_scores_nothing(
    altered: Callable[..., Path], tmp_path: Path
) -> None:
    run = curated(
        taken(tmp_path), altered(template=TEMPLATE.replace("{%- if tools %}", "{%- if false %}"))
    )
    assert verdicts(run) == {(None, "tools_not_rendered")}


def test_a_student_of_broken_weights_ends_the_run_in_one_line_or_leaves_a_fault(
    altered: Callable[..., Path], tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    folder = altered()
    weights = AutoModelForCausalLM.from_pretrained(folder)
    weights.model.norm.weight.data[0] = torch.nan
    weights.save_pretrained(folder)
    run = curated(taken(tmp_path), folder)
    assert scores(run) == {}
    assert verdicts(run) == {(None, "fault")}


def test_a_student_that_was_trained_on_the_rows_is_refused(
    altered: Callable[..., Path], tmp_path: Path
) -> None:
    folder, url = altered(), taken(tmp_path)
    dataset = Path(url) / "datasets" / "sft"
    dataset.mkdir(parents=True)
    (dataset / "train-0123456789abcdef-00000.parquet").touch()
    (folder / "README.md").write_text("Fine-tuned on 0123456789abcdef.")
    with pytest.raises(
        ConfigError, match=r"was trained on .*datasets/sft \(.*README.md names its hash\)"
    ):
        curated(url, folder)


def test_a_flow_without_the_role_is_refused_before_anything_is_scored(
    random_model: Path, tmp_path: Path
) -> None:
    with pytest.raises(SynthError, match=r"needs a model as 'pupil': add `pupil: \{model: ...\}`"):
        curated(taken(tmp_path), random_model, role="pupil")
