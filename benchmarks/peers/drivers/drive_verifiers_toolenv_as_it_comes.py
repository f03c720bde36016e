"""verifiers 0.2's `ToolEnv` with the client that it makes itself: httpx, with room for 28,000
connections.

It keeps its ten retries: from some hundreds of calls in flight on it does not get all of its
connections within its 5 s.
"""

from echo_work import given
from toolenv_echo import evaluate
from verifiers.clients import OpenAIChatCompletionsClient
from verifiers.types import ClientConfig

if __name__ == "__main__":
    work = given()
    evaluate(
        work, OpenAIChatCompletionsClient(ClientConfig(api_base_url=work.url, api_key_var="NO_KEY"))
    )
