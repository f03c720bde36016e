"""distilabel: a `Pipeline` of LoadDataFromDicts and TextGeneration, its documented way. Single
turns, no tools.
"""

import os

from distilabel.models.llms import OpenAILLM
from distilabel.pipeline import Pipeline
from distilabel.steps import LoadDataFromDicts
from distilabel.steps.tasks import TextGeneration
from echo_work import given

os.environ["DISTILABEL_LOG_LEVEL"] = (
    "WARNING"  # otherwise a line per request, from an HTTP package that it does not know to silence
)


def main() -> None:
    """One generation per goal; batches as large as the calls in flight, no cache."""
    work = given()
    with Pipeline(name="echo", cache_dir=work.folder) as pipeline:
        rows = LoadDataFromDicts(
            data=[{"instruction": goal} for goal in work.goals], batch_size=work.in_flight
        )
        generate = TextGeneration(
            llm=OpenAILLM(model=work.model, base_url=work.url, api_key="none", max_retries=0),
            system_prompt=work.system,
            input_batch_size=work.in_flight,
            add_raw_input=False,
            add_raw_output=False,
        )
        rows >> generate
    found = pipeline.run(use_cache=False)["default"]["train"]
    if sum(bool(text) for text in found["generation"]) != len(work.goals):
        raise SystemExit(f"{len(found)} of {len(work.goals)} generated")


if __name__ == "__main__":
    main()
