"""A stand-in for the Hugging Face Hub on a real loopback socket: gating, LFS, revisions, writes, and faults on demand.

Speaks only what huggingface_hub 1.16 and 2.4 ask; holds no real data. Switches the client's Xet store off: it cannot
be imitated.
"""

import base64
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

os.environ["HF_HUB_DISABLE_XET"] = "1"
if "huggingface_hub.constants" in sys.modules:
    vars(sys.modules["huggingface_hub.constants"])["HF_HUB_DISABLE_XET"] = True

REPO_ID = r"([\w.-]+/[\w.-]+)"
DATE = "2026-01-01T00:00:00.000Z"


@dataclass
class Fault:
    """How requests to paths that match `pattern` go wrong, `times` times (-1: always).

    `cut_at`: the body breaks off after that many bytes though its full length was announced. `status` 0: only cut.
    """

    pattern: str
    status: int = 0
    code: str = ""
    message: str = "error"
    headers: dict[str, str] = field(default_factory=dict)
    cut_at: int | None = None
    method: str = ""
    times: int = -1


class Repo:
    """One repository: every commit keeps its own files; `refs` names commits."""

    def __init__(self, kind: str, name: str, *, private: bool = False, gated: bool = False, granted: tuple = ()):
        self.kind, self.name, self.private, self.gated = kind, name, private, gated
        self.granted = {*granted, name.split("/")[0]}
        self.trees: dict[str, dict[str, bytes]] = {}
        self.titles: dict[str, str] = {}
        self.lfs: set[str] = set()
        self.refs: dict[str, str] = {}
        self.commit({}, "initial commit")

    def commit(self, files: dict[str, bytes | None], title: str = "data", branch: str = "main") -> str:
        """Add a commit on `branch`; None deletes a file. Returns its id."""
        tree = dict(self.trees.get(self.refs.get(branch, ""), {}))
        for path, content in files.items():
            if content is None:
                tree.pop(path, None)
            else:
                tree[path] = content
        sha = hashlib.sha1(f"{self.name}{len(self.trees)}{title}".encode()).hexdigest()
        self.trees[sha], self.titles[sha], self.refs[branch] = tree, title, sha
        return sha

    @property
    def sha(self) -> str:
        return self.refs["main"]

    def resolve(self, revision: str | None) -> str | None:
        """Commit id of a branch, tag or commit; None where there is none."""
        revision = revision or "main"
        return self.refs.get(revision) or (revision if revision in self.trees else None)

    def entry(self, sha: str, path: str) -> dict[str, Any]:
        content = self.trees[sha][path]
        found: dict[str, Any] = {"type": "file", "oid": blob_id(content), "size": len(content), "path": path}
        if path in self.lfs:
            digest = hashlib.sha256(content).hexdigest()
            found["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 130}
        return found

    def info(self, sha: str) -> dict[str, Any]:
        return {
            "_id": "x",
            "id": self.name,
            "author": self.name.split("/")[0],
            "sha": sha,
            "private": self.private,
            "gated": "auto" if self.gated else False,
            "disabled": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "lastModified": DATE,
            "createdAt": DATE,
            "siblings": [{"rfilename": path} for path in sorted(self.trees[sha])],
        }


class FakeHub:
    """The server's state. `users` maps tokens to names; `log` holds every request; `faults` make them go wrong."""

    def __init__(self) -> None:
        self.users = {"hf_owner_token": "owner", "hf_granted_token": "granted", "hf_plain_token": "plain"}
        self.repos: dict[tuple[str, str], Repo] = {}
        self.uploads: dict[str, bytes] = {}
        self.faults: list[Fault] = []
        self.log: list[dict[str, Any]] = []
        self.lock = threading.RLock()
        self.url = ""

    def add(self, repo: Repo) -> Repo:
        self.repos[(repo.kind, repo.name)] = repo
        return repo

    def fail(self, pattern: str, **how: Any) -> Fault:
        """Make requests to matching paths go wrong from now on."""
        fault = Fault(pattern, **how)
        self.faults.append(fault)
        return fault

    def fault_for(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times and fault.method in ("", method) and re.search(fault.pattern, path):
                    fault.times -= 1
                    return fault
        return None

    def paths(self, method: str = "") -> list[str]:
        """Paths asked for so far."""
        return [entry["path"] for entry in self.log if method in ("", entry["method"])]


@contextmanager
def running() -> Iterator[FakeHub]:
    """A hub that listens while the block runs; `hub.url` is its address."""
    hub = FakeHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: FakeHub

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on standard error: the tests read `hub.log`."""

    def _handle(self) -> None:
        url = urlsplit(self.path)
        body = self._body()
        path = unquote(url.path)
        self.hub.log.append(
            {
                "method": self.command,
                "path": path,
                "token": self._token(),
                "range": self.headers.get("Range"),
            }
        )
        self._cut: int | None = None
        fault = self.hub.fault_for(self.command, path)
        if fault and fault.status:
            self._error(fault.status, fault.code, fault.message, fault.headers)
            return
        self._cut = fault.cut_at if fault else None
        self._route(path, parse_qs(url.query), body)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _send(self, status: int, body: Any = b"", headers: dict[str, str] | None = None) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream" if isinstance(body, bytes) else "application/json")
        self.send_header("Content-Length", str(len(raw)))
        for name, value in (headers or {}).items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self._cut is not None:
            self.wfile.write(raw[: self._cut])
            self.close_connection = True
            return
        self.wfile.write(raw)

    def _error(self, status: int, code: str = "", message: str = "error", headers: dict | None = None) -> None:
        named = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {}), **(headers or {})}
        self._cut = None
        self._send(status, {"error": message}, named)

    def _token(self) -> str:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ").strip()

    def _user(self) -> str | None:
        return self.hub.users.get(self._token())

    def _repo(self, kind: str, name: str, content: bool = False, write: bool = False) -> Repo | None:
        """The repository, or None after the Hub's own error was sent."""
        user, repo = self._user(), self.hub.repos.get((kind, name))
        if self._token() and not user:
            self._error(401, "", "Invalid credentials in Authorization header")
        elif repo is None or (repo.private and user not in repo.granted):
            self._error(404 if user else 401, "RepoNotFound", "Repository not found")
        elif content and repo.gated and user not in repo.granted:
            self._error(403 if user else 401, "GatedRepo", f"Access to {kind} {name} is restricted.")
        elif write and user != name.split("/")[0]:
            self._error(403, "", "You don't have the rights to create a commit on this repo")
        else:
            return repo
        return None

    def _route(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        if path == "/api/whoami-v2":
            self._whoami()
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif path == "/api/validate-yaml":
            self._send(200, {"errors": [], "warnings": []})
        elif path.startswith("/lfs-store/"):
            self.hub.uploads[path.rsplit("/", 1)[1]] = body
            self._send(200, b"", {"ETag": '"x"'})
        elif match := re.fullmatch(rf"/(?:(datasets|spaces)/)?{REPO_ID}\.git/info/lfs/objects/batch", path):
            self._batch((match[1] or "models")[:-1], match[2], json.loads(body))
        elif match := re.fullmatch(rf"/(?:(datasets|spaces)/)?{REPO_ID}/resolve/([^/]+)/(.+)", path):
            self._resolve((match[1] or "models")[:-1], match[2], match[3], match[4])
        elif match := re.fullmatch(rf"/api/(models|datasets|spaces)/{REPO_ID}(?:/([a-z-]+)(?:/([^/]+))?(?:/(.*))?)?", path):
            self._api(match[1][:-1], match[2], match[3] or "", match[4], match[5] or "", query, body)
        else:
            self._error(404, "", "no such route")

    def _whoami(self) -> None:
        user = self._user()
        if not user:
            self._error(401, "", "Invalid credentials in Authorization header")
            return
        access = {"type": "access_token", "accessToken": {"displayName": "t", "role": "write", "createdAt": DATE}}
        fields = {"type": "user", "id": f"u-{user}", "name": user, "fullname": user, "email": None}
        self._send(200, {**fields, "isPro": False, "avatarUrl": "", "orgs": [], "auth": access})

    def _create(self, wanted: dict[str, Any]) -> None:
        user = self._user()
        if not user:
            self._error(401, "", "Invalid credentials in Authorization header")
            return
        kind, name = wanted.get("type", "model"), f"{wanted.get('organization') or user}/{wanted['name']}"
        exists = (kind, name) in self.hub.repos
        if not exists:
            private = wanted.get("visibility") == "private" or bool(wanted.get("private"))
            self.hub.add(Repo(kind, name, private=private))
        self._send(409 if exists else 200, {"url": f"{self.hub.url}/{kind}s/{name}", "name": name, "id": "x"})

    def _resolve(self, kind: str, name: str, revision: str, path: str) -> None:
        repo = self._repo(kind, name, content=True)
        if not repo:
            return
        sha = repo.resolve(revision)
        if sha is None:
            self._error(404, "RevisionNotFound", "Invalid rev id")
        elif path not in repo.trees[sha]:
            self._error(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": sha})
        else:
            self._content(repo, sha, path)

    def _content(self, repo: Repo, sha: str, path: str) -> None:
        content = repo.trees[sha][path]
        large = path in repo.lfs
        etag = hashlib.sha256(content).hexdigest() if large else blob_id(content)
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": sha, "Accept-Ranges": "bytes"}
        if large:
            headers |= {"X-Linked-Etag": f'"{etag}"', "X-Linked-Size": str(len(content))}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if wanted:
            first, last = int(wanted[1]), int(wanted[2] or len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            self._send(206, content[first : last + 1], headers)
        else:
            self._send(200, content, headers)

    def _api(
        self, kind: str, name: str, verb: str, revision: str | None, rest: str, query: dict[str, list[str]], body: bytes
    ) -> None:
        writes = verb in ("preupload", "commit")
        repo = self._repo(kind, name, content=verb == "auth-check", write=writes)
        if not repo:
            return
        sha = repo.resolve(revision)
        if sha is None:
            self._error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        elif verb == "auth-check":
            self._send(200, {})
        elif verb in ("", "revision"):
            self._send(200, repo.info(sha))
        elif verb == "tree":
            self._send(200, _tree(repo, sha, rest, query.get("recursive", [""])[0].lower() == "true"))
        elif verb == "paths-info":
            wanted = json.loads(body) if body[:1] == b"{" else parse_qs(body.decode())
            self._send(200, [repo.entry(sha, path) for path in wanted["paths"] if path in repo.trees[sha]])
        elif verb == "refs":
            branches = [{"name": n, "ref": f"refs/heads/{n}", "targetCommit": c} for n, c in repo.refs.items()]
            self._send(200, {"branches": branches, "tags": [], "converts": []})
        elif verb == "commits":
            log = [{"id": c, "title": t, "message": "", "date": DATE, "authors": []} for c, t in repo.titles.items()]
            self._send(200, log[::-1])
        elif verb == "preupload":
            self._preupload(json.loads(body))
        elif verb == "commit":
            self._commit(repo, revision or "main", body)
        else:
            self._error(404, "", f"not part of this stand-in: {verb}")

    def _preupload(self, wanted: dict[str, Any]) -> None:
        modes = [
            {
                "path": f["path"],
                "uploadMode": "lfs" if f["size"] > 10_000 else "regular",
                "shouldIgnore": False,
                "oid": None,
            }
            for f in wanted["files"]
        ]
        self._send(200, {"files": modes})

    def _batch(self, kind: str, name: str, wanted: dict[str, Any]) -> None:
        if not self._repo(kind, name, write=True):
            return
        objects = []
        for item in wanted["objects"]:
            found: dict[str, Any] = {"oid": item["oid"], "size": item["size"]}
            if item["oid"] not in self.hub.uploads:
                found["actions"] = {"upload": {"href": f"{self.hub.url}/lfs-store/{item['oid']}"}}
            objects.append(found)
        self._send(200, {"transfer": "basic", "objects": objects})

    def _commit(self, repo: Repo, branch: str, body: bytes) -> None:
        changes: dict[str, bytes | None] = {}
        title, parent = "", ""
        for line in body.splitlines():
            item = json.loads(line)
            key, value = item["key"], item["value"]
            if key == "header":
                title, parent = value["summary"], value.get("parentCommit") or ""
            elif key == "file":
                changes[value["path"]] = base64.b64decode(value["content"])
            elif key == "lfsFile":
                changes[value["path"]] = self.hub.uploads[value["oid"]]
                repo.lfs.add(value["path"])
            elif key == "deletedFile":
                changes[value["path"]] = None
        with self.hub.lock:
            if parent and parent != repo.refs[branch]:
                self._error(412, "", "A commit has happened since. Please refresh and try again.")
                return
            sha = repo.commit(changes, title, branch)
        url = f"{self.hub.url}/{repo.kind}s/{repo.name}/commit/{sha}"
        self._send(200, {"success": True, "commitOid": sha, "commitUrl": url, "hookOutput": ""})


def _tree(repo: Repo, sha: str, folder: str, recursive: bool) -> list[dict[str, Any]]:
    start = f"{folder}/" if folder else ""
    paths = [path for path in sorted(repo.trees[sha]) if path.startswith(start)]
    folders = {path[:i] for path in paths for i, char in enumerate(path) if char == "/" and i >= len(start)}
    if not recursive:
        paths = [path for path in paths if "/" not in path[len(start) :]]
        folders = {name for name in folders if "/" not in name[len(start) :]}
    listed = [
        {"type": "directory", "oid": hashlib.sha1(name.encode()).hexdigest(), "size": 0, "path": name} for name in sorted(folders)
    ]
    return listed + [repo.entry(sha, path) for path in paths]
