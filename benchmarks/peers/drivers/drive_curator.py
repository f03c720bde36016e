"""Curator: `curator.LLM` with the openai backend. Single turns, no tools: it has no tool loop."""

import os
from pathlib import Path

from echo_work import given

os.environ |= {
    "TELEMETRY_ENABLED": "false",
    "CURATOR_DISABLE_CACHE": "true",
    "CURATOR_DISABLE_RICH_DISPLAY": "1",
}


def main() -> None:
    """One generation per goal; its rate limits set too high to bind."""
    work = given()
    import litellm
    from bespokelabs import curator

    # litellm carries the token table that Curator would download
    os.environ["TIKTOKEN_CACHE_DIR"] = str(
        Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers"
    )
    limits = {
        "max_concurrent_requests": work.in_flight,
        "max_requests_per_minute": 10**9,
        "max_tokens_per_minute": 10**12,
    }
    llm = curator.LLM(
        model_name=work.model,
        backend="openai",
        system_prompt=work.system,
        backend_params={
            "base_url": work.url,
            "api_key": "none",
            "max_retries": 0,
            "require_all_responses": True,
            **limits,
        },
    )
    found = llm(work.goals, working_dir=work.folder).dataset
    if sum(bool(row["response"]) for row in found) != len(work.goals):
        raise SystemExit(f"{len(found)} of {len(work.goals)} generated")


if __name__ == "__main__":
    main()
