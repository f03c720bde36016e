"""Settings that change what a dataset may be used for: said first, whoever set them."""

from collections.abc import Iterator

from synth.schemas.flow import Flow


def dataset_warnings(flow: Flow) -> Iterator[str]:
    """A line for each."""
    for stage in flow.stages:
        settings = stage.settings if isinstance(stage.settings, dict) else {}
        if settings.get("include_scripted"):
            yield (
                f"{flow.name}: include_scripted is set: rows written by scripts, not by a "
                "model, go into the datasets"
            )
        if settings.get("allow_benchmark"):
            yield (
                f"{flow.name}: allow_benchmark is set: attempts at public benchmarks go into "
                "the datasets"
            )
        if settings.get("allow_held_out"):
            yield (
                f"{flow.name}: allow_held_out is set: attempts at held-out tasks go into the "
                "datasets"
            )
