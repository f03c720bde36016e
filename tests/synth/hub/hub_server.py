"""A server that speaks the Hub's protocol for datasets, with mishaps on demand; repositories live
in memory.
"""

import re
import threading
from collections import Counter
from collections.abc import Callable
from http.server import ThreadingHTTPServer

from tests.synth.hub.hub_repo import Mishap, Repo
from tests.synth.hub.hub_requests import TOKEN as TOKEN
from tests.synth.hub.hub_requests import HubRequests


class Hub:
    def __init__(self) -> None:
        self.repos: dict[str, Repo] = {}
        self.blobs: dict[str, bytes] = {}
        self.requests: Counter[str] = Counter()
        self.seen: list[str] = []
        self.mishaps: list[Mishap] = []
        self.stored: Callable[[str, bytes], bytes] = lambda path, blob: (
            blob
        )  # what becomes of a file that was sent
        self.served: Callable[[str, bytes], bytes] = lambda path, blob: (
            blob
        )  # what is given of one that was stored
        self.lock = threading.RLock()
        hub = self

        class Handler(HubRequests):
            pass

        Handler.hub = hub
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def commits(self, repo: str) -> list[str]:
        """Messages, without the one that made the repository."""
        return self.repos[repo].messages[1:]

    def mishap(self, request: str) -> Mishap | None:
        with self.lock:
            for one in self.mishaps:
                if one.times and re.search(one.pattern, request):
                    if one.skip:
                        one.skip -= 1
                        continue
                    one.times -= 1
                    return one
        return None


if __name__ == "__main__":  # to look at a publication by hand
    hub = Hub()
    print(f"HF_ENDPOINT={hub.url} HF_HUB_DISABLE_XET=1 HF_TOKEN={TOKEN}", flush=True)
    threading.Event().wait()
