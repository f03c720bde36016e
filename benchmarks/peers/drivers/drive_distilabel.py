"""distilabel: `OpenAILLM.generate_outputs`, a batch of `in_flight` inputs at a time. Single turns,
no tools: it has no tool loop.
"""

from distilabel.models.llms import OpenAILLM
from echo_work import given


def main() -> None:
    """One generation per goal, batch after batch, as a pipeline's step hands them over."""
    work = given()
    llm = OpenAILLM(model=work.model, base_url=work.url, api_key="none", max_retries=0)
    llm.load()
    done = 0
    for start in range(0, len(work.goals), work.in_flight):
        batch = work.goals[start : start + work.in_flight]
        outputs = llm.generate_outputs(
            inputs=[
                [{"role": "system", "content": work.system}, {"role": "user", "content": goal}]
                for goal in batch
            ]
        )
        done += sum(bool(output["generations"][0]) for output in outputs)
    if done != len(work.goals):
        raise SystemExit(f"{done} of {len(work.goals)} generated")


if __name__ == "__main__":
    main()
