"""verifiers 0.2's `ToolEnv` with the aiohttp transport of the openai package, which is several
times quicker than its own.
"""

from echo_work import given
from openai import AsyncOpenAI, DefaultAioHttpClient
from toolenv_echo import evaluate
from verifiers.clients import OpenAIChatCompletionsClient

if __name__ == "__main__":
    work = given()
    server = AsyncOpenAI(
        base_url=work.url, api_key="none", max_retries=0, http_client=DefaultAioHttpClient()
    )
    evaluate(work, OpenAIChatCompletionsClient(server))
