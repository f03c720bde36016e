"""What a model's server answered instead of a reply."""

from collections.abc import Callable

from synth.schemas.model import ModelError


class ServerError(ModelError):
    """A failed try at a server: the HTTP `status` (None where there was none), and how long it asks
    to be left alone.

    `turned_away`: the server did not begin to work on it (nothing listens, or it has no room);
    asking again repeats no work.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        timeout: bool = False,
        context_overflow: bool = False,
        turned_away: bool = False,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(
            message, retryable=retryable, timeout=timeout, context_overflow=context_overflow
        )
        self.turned_away = turned_away
        self.status = status
        self.retry_after_s = retry_after_s

    def after(self, tries: int) -> "ServerError":
        """The same failure, saying how often it was tried."""
        return self._saying(f"{self}; gave up after {tries} {'try' if tries == 1 else 'tries'}")

    def without_keys(self, clean: Callable[[str], str]) -> "ServerError":
        """The same failure, with a mark where its words repeat a key: HTTP libraries quote what a
        server sent them.
        """
        return self._saying(clean(str(self)))

    def _saying(self, words: str) -> "ServerError":
        return ServerError(
            words,
            retryable=self.retryable,
            timeout=self.timeout,
            context_overflow=self.context_overflow,
            turned_away=self.turned_away,
            status=self.status,
            retry_after_s=self.retry_after_s,
        )
