"""What a server with the Hub's protocol answers to each request."""

import hashlib
import json
import re
from base64 import b64decode
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from tests.synth.hub.hub_repo import Repo, blob_id, entry, is_lfs, validated

if TYPE_CHECKING:
    from tests.synth.hub.hub_server import Hub

TOKEN = "hf_" + "t" * 34
ACCOUNT = "me"


class HubRequests(BaseHTTPRequestHandler):
    hub: "Hub"
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments: object) -> None:
        pass

    def _go(self) -> None:
        path = unquote(urlsplit(self.path).path)
        request = f"{self.command} {path}"
        length = int(self.headers.get("Content-Length") or 0)
        self.hub.seen.append(request)
        mishap = self.hub.mishap(request)
        if mishap is not None and mishap.call is not None:
            mishap.call()
        if (
            mishap is not None
            and mishap.status is None
            and not mishap.after
            and mishap.call is None
        ):
            self.rfile.read(min(length, 1000))  # in the middle of the upload
            self.close_connection = True
            self.connection.close()
            return
        body = self.rfile.read(length) if length else self._chunked()
        if mishap is not None and mishap.status is not None and not mishap.after:
            self._answer(mishap.status, {"error": "trouble"}, mishap.headers)
            return
        with self.hub.lock:
            self.hub.requests[re.sub(r"[0-9a-f]{40,}", "ID", request)] += 1
            status, answer, headers = self._reply(path, body)
        if mishap is not None and mishap.after:
            self.close_connection = True
            self.connection.close()
            return
        self._answer(status, answer, headers)

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = _go  # noqa: N815

    def _chunked(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return b""
        found = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            found += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return found

    def _answer(self, status: int, answer: Any, headers: dict[str, str]) -> None:
        blob = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        try:
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(blob)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(blob)
        except OSError:  # the client is gone
            self.close_connection = True

    def _reply(self, path: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        authorised = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if path == "/api/whoami-v2":
            return (
                (200, {"name": ACCOUNT, "type": "user"}, {})
                if authorised
                else (401, {"error": "Invalid user token."}, {})
            )
        if path == "/api/validate-yaml":
            return validated(json.loads(body))
        if match := re.fullmatch(r"/blobs/([0-9a-f]{64})", path):
            return self._store(match[1], body)
        if not authorised and not self._readable(path):
            return 401, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"}
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        for pattern, reply in (
            (r"/api/datasets/([^/]+/[^/]+)/settings", self._settings),
            (r"/api/datasets/([^/]+/[^/]+)/preupload/main", self._preupload),
            (r"/api/datasets/([^/]+/[^/]+)/commit/main", self._commit),
            (r"/datasets/([^/]+/[^/]+)\.git/info/lfs/objects/batch", self._batch),
            (r"/api/datasets/([^/]+/[^/]+)/(?:tree|paths-info)/([^/]+)/?(.*)", self._tree),
            (r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self._file),
            (r"/api/datasets/([^/]+/[^/]+)(?:/revision/([^/]+))?", self._info),
        ):
            if match := re.fullmatch(pattern, path):
                repo = self.hub.repos.get(match[1])
                if repo is None:
                    return 404, {"error": "Repository not found"}, {"X-Error-Code": "RepoNotFound"}
                return reply(repo, body, *match.groups()[1:])
        return 404, {"error": f"unknown: {path}"}, {"X-Error-Code": "EntryNotFound"}

    def _readable(self, path: str) -> bool:
        return any(
            f"/{name}" in path and not repo.private for name, repo in self.hub.repos.items()
        ) and self.command in ("GET", "HEAD")

    def _create(self, wanted: dict[str, Any]) -> tuple[int, Any, dict[str, str]]:
        name = f"{wanted.get('organization') or ACCOUNT}/{wanted['name']}"
        url = {"url": f"{self.hub.url}/datasets/{name}", "id": name}
        if name in self.hub.repos:
            return 409, {"error": "You already created this dataset repo", **url}, {}
        if not name.startswith(f"{ACCOUNT}/"):
            return (
                403,
                {"error": "You don't have the rights to create a dataset under this namespace"},
                {},
            )
        self.hub.repos[name] = Repo(
            private=bool(wanted.get("private") or wanted.get("visibility") == "private")
        )
        return 200, url, {}

    def _settings(self, repo: Repo, body: bytes) -> tuple[int, Any, dict[str, str]]:
        wanted = json.loads(body)
        repo.private = (
            wanted["private"] if "private" in wanted else wanted["visibility"] == "private"
        )
        return 200, {"private": repo.private}, {}

    def _preupload(self, repo: Repo, body: bytes) -> tuple[int, Any, dict[str, str]]:
        head = repo.commits[-1]
        files = []
        for file in json.loads(body)["files"]:
            path = file["path"]
            known = entry(path, head[path]) if path in head else {}
            oid = known.get("lfs", known).get("oid")
            files.append(
                {
                    "path": path,
                    "uploadMode": "lfs" if is_lfs(path) else "regular",
                    "shouldIgnore": False,
                    "oid": oid,
                }
            )
        return 200, {"files": files}, {}

    def _batch(self, repo: Repo, body: bytes) -> tuple[int, Any, dict[str, str]]:
        objects = []
        for one in json.loads(body)["objects"]:
            link = {"href": f"{self.hub.url}/blobs/{one['oid']}", "header": {}}
            known = one["oid"] in self.hub.blobs
            objects.append(
                {**one, "authenticated": True}
                | ({} if known else {"actions": {"upload": link, "verify": link}})
            )
        return 200, {"transfer": "basic", "objects": objects}, {}

    def _store(self, oid: str, body: bytes) -> tuple[int, Any, dict[str, str]]:
        if self.command == "PUT":
            if hashlib.sha256(body).hexdigest() != oid:
                return 400, {"error": "wrong bytes"}, {}
            self.hub.blobs[oid] = body
        return (200, {}, {}) if oid in self.hub.blobs else (404, {"error": "not there"}, {})

    def _commit(self, repo: Repo, body: bytes) -> tuple[int, Any, dict[str, str]]:
        files = dict(repo.commits[-1])
        message = ""
        for line in body.splitlines():
            operation = json.loads(line)
            value = operation["value"]
            match operation["key"]:
                case "header":
                    message = value["summary"]
                    if value.get("parentCommit") not in (None, repo.head):
                        return (
                            412,
                            {"error": "A commit has happened since. Please refresh and try again."},
                            {},
                        )
                case "file":
                    files[value["path"]] = b64decode(value["content"])
                case "lfsFile":
                    if value["oid"] not in self.hub.blobs:
                        return 400, {"error": "blob was never uploaded"}, {}
                    files[value["path"]] = self.hub.stored(
                        value["path"], self.hub.blobs[value["oid"]]
                    )
                case "deletedFile":
                    if files.pop(value["path"], None) is None:
                        return (
                            404,
                            {"error": "A file with this name doesn't exist"},
                            {"X-Error-Code": "EntryNotFound"},
                        )
        repo.commits.append(files)
        repo.messages.append(message)
        name = next(name for name, one in self.hub.repos.items() if one is repo)
        url = f"{self.hub.url}/datasets/{name}/commit/{repo.head}"
        return (
            200,
            {"success": True, "commitOid": repo.head, "commitUrl": url, "hookOutput": ""},
            {},
        )

    def _info(
        self, repo: Repo, body: bytes, revision: str | None
    ) -> tuple[int, Any, dict[str, str]]:
        files = repo.at(revision or "main")
        if files is None:
            return 404, {"error": "no such revision"}, {"X-Error-Code": "RevisionNotFound"}
        name = next(name for name, one in self.hub.repos.items() if one is repo)
        sha = repo.head if revision in (None, "main") else revision
        siblings = [{"rfilename": path} for path in files]
        return (
            200,
            {
                "id": name,
                "sha": sha,
                "private": repo.private,
                "siblings": siblings,
                "tags": [],
                "downloads": 0,
                "likes": 0,
            },
            {},
        )

    def _tree(
        self, repo: Repo, body: bytes, revision: str, folder: str
    ) -> tuple[int, Any, dict[str, str]]:
        files = repo.at(revision)
        if files is None:
            return 404, {"error": "no such revision"}, {"X-Error-Code": "RevisionNotFound"}
        if self.command == "POST":
            wanted = json.loads(body)["paths"] if body.startswith(b"{") else []
            return 200, [entry(path, files[path]) for path in wanted if path in files], {}
        under = f"{folder}/" if folder else ""
        found = {path: blob for path, blob in files.items() if path.startswith(under)}
        if folder and not found:
            return 404, {"error": "no such folder"}, {"X-Error-Code": "EntryNotFound"}
        if "recursive=true" in self.path.lower():
            return 200, [entry(path, blob) for path, blob in found.items()], {}
        entries = [
            entry(path, blob) for path, blob in found.items() if "/" not in path.removeprefix(under)
        ]
        folders = sorted(
            {
                under + path.removeprefix(under).split("/")[0]
                for path in found
                if "/" in path.removeprefix(under)
            }
        )
        return (
            200,
            [
                *entries,
                *(
                    {"type": "directory", "path": path, "size": 0, "oid": "0" * 40}
                    for path in folders
                ),
            ],
            {},
        )

    def _file(
        self, repo: Repo, body: bytes, revision: str, path: str
    ) -> tuple[int, Any, dict[str, str]]:
        files = repo.at(revision)
        if files is None or path not in files:
            return 404, {"error": "Entry not found"}, {"X-Error-Code": "EntryNotFound"}
        blob = self.hub.served(path, files[path])
        commit = repo.head if revision == "main" else revision
        headers = {"ETag": f'"{blob_id(blob)}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        headers["Content-Type"] = "application/octet-stream"
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            start, end = int(match[1]), min(int(match[2] or len(blob) - 1), len(blob) - 1)
            return (
                206,
                blob[start : end + 1],
                {**headers, "Content-Range": f"bytes {start}-{end}/{len(blob)}"},
            )
        return 200, blob, headers
