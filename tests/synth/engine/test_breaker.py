"""The breaker: refusals in a row end a run, answers between them do not."""

import pytest

from synth.boundary import FaultError
from synth.engine.budget import IN_A_ROW, Breaker
from synth.schemas.outcome import Fault

REFUSED = FaultError(Fault.MODEL, "policy: model m at http://x/v1: HTTP 401: no", final=True)
LOST = FaultError(Fault.MODEL, "policy: model m at http://x/v1: connection lost")
LATE = FaultError(Fault.TIMEOUT, "policy: model m at http://x/v1: no reply within 120 s")
BROKEN_WORLD = FaultError(Fault.ENVIRONMENT, "step 0: KeyError")


def fails(breaker: Breaker, error: FaultError, times: int = IN_A_ROW) -> str | None:
    for _ in range(times):
        breaker.failed(error)
    return breaker.tripped()


@pytest.mark.parametrize("error", [REFUSED, LOST, LATE])
def test_a_model_that_never_answered_ends_the_run_and_its_last_words_are_told(
    error: FaultError,
) -> None:
    breaker = Breaker()
    assert fails(breaker, error, IN_A_ROW - 1) is None
    assert fails(breaker, error, 1) == (
        f"{error.detail.removeprefix('policy: ')}; stopped after 10 attempts in a row that ended "
        "so: mend it and run again, "
        "what was done is kept"
    )


def test_after_a_first_answer_only_what_asking_again_cannot_change_ends_the_run() -> None:
    for error, ends in ((REFUSED, True), (LOST, False), (LATE, False)):
        breaker = Breaker()
        breaker.answered()
        assert (fails(breaker, error) is not None) is ends


def test_an_answer_between_refusals_starts_the_count_again() -> None:
    breaker = Breaker()
    for _ in range(50):
        assert fails(breaker, REFUSED, IN_A_ROW - 1) is None
        breaker.answered()


def test_a_broken_world_is_no_refusal() -> None:
    assert fails(Breaker(), BROKEN_WORLD, 100) is None


def test_a_text_that_is_too_long_for_a_model_says_nothing_of_the_next() -> None:
    too_long = FaultError(
        Fault.JUDGE,
        "judge: model m at http://x/v1: HTTP 400: too long",
        context_overflow=True,
        final=True,
    )
    assert fails(Breaker(), too_long, 100) is None


def test_a_role_that_never_answered_is_unheard_however_few_its_questions_were() -> None:
    breaker = Breaker()
    assert breaker.unheard() is None, "nothing was asked"
    breaker.failed(REFUSED)
    breaker.failed(LOST)
    assert breaker.unheard() == (2, LOST.detail)
    breaker.answered()
    assert breaker.unheard() is None


def test_a_text_that_is_too_long_is_not_the_silence_of_a_server() -> None:
    breaker = Breaker()
    breaker.failed(FaultError(Fault.JUDGE, "judge: too long", context_overflow=True))
    assert breaker.unheard() is None
