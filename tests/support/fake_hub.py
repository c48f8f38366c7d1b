"""A model hub on loopback, as far as its client library asks one: what a repository holds, and its files by range."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """One repository.

    Attributes:
        repository: its name.
        files: what it holds, by name.
        licence: as its card says.
        gated: whether its terms have to be accepted.
        token: that is wanted; empty where none is.
        cut: the connection breaks off after that many bytes of a file, and the hub is down from then on.
        down: whether it answers everything with 500.
        said: checksums that the record has instead of the right ones, by name.
        etags: what is said with a file instead of its checksum, by name.
        elsewhere: the address of another host, to which requests for files are sent on.
        asked: method, path and range of each request.
        tokens: that came.
    """

    repository: str = "owner/tale-GGUF"
    files: dict[str, bytes] = field(default_factory=dict)
    licence: str = "apache-2.0"
    gated: bool = False
    token: str = ""
    cut: int = 0
    down: bool = False
    said: dict[str, str] = field(default_factory=dict)
    etags: dict[str, str] = field(default_factory=dict)
    elsewhere: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    address: str = ""

    def sha256(self, name: str) -> str:
        """The checksum in the hub's record."""
        return self.said.get(name) or hashlib.sha256(self.files[name]).hexdigest()

    def record(self) -> dict[str, Any]:
        """What the hub says of the repository."""
        siblings = [
            {
                "rfilename": name,
                "size": len(data),
                "blobId": "b" * 40,
                "lfs": {"sha256": self.sha256(name), "size": len(data), "pointerSize": 134},
            }
            for name, data in self.files.items()
        ]
        return {
            "id": self.repository,
            "modelId": self.repository,
            "sha": COMMIT,
            "private": False,
            "gated": "manual" if self.gated else False,
            "tags": [],
            "downloads": 0,
            "cardData": {"license": self.licence},
            "siblings": [*siblings, {"rfilename": "README.md", "size": 10, "blobId": "c" * 40}],
        }


class _Handler(BaseHTTPRequestHandler):
    """Answers for the hub that a subclass has."""

    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        """Answer without a body."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answer with the record or a file, or refuse."""
        hub, path = self.hub, unquote(urlsplit(self.path).path)
        hub.asked.append((self.command, path, self.headers.get("range", "")))
        token = self.headers.get("authorization", "").removeprefix("Bearer ")
        hub.tokens.add(token)
        if hub.down:
            self._refuse(500, "InternalError")
        elif hub.repository not in path:
            self._refuse(404, "RepoNotFound")
        elif hub.token and token != hub.token:
            self._refuse(403 if hub.gated else 401, "GatedRepo" if hub.gated else "RepoNotFound")
        elif path.startswith("/api/"):
            self._whole(200, json.dumps(hub.record()).encode(), {"content-type": "application/json"})
        elif hub.elsewhere:
            self._whole(302, b"", {"location": f"{hub.elsewhere}{path}"})
        else:
            self._file(path.partition(f"/resolve/{COMMIT}/")[2])

    def _refuse(self, status: int, code: str) -> None:
        self._whole(status, b"{}", {"x-error-code": code, "x-error-message": code})

    def _whole(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in ({"content-length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _file(self, name: str) -> None:
        hub, data = self.hub, self.hub.files[name]
        begin = int(self.headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        etag = hub.etags.get(name) or hub.sha256(name)
        headers = {
            "x-repo-commit": COMMIT,
            "x-linked-etag": f'"{etag}"',
            "x-linked-size": str(len(data)),
            "etag": f'"{etag}"',
            "content-length": str(len(data) - begin),
        }
        if begin:
            headers["content-range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        cut = hub.cut if self.command == "GET" else 0
        self._whole(206 if begin else 200, data[begin : begin + cut if cut else None], headers)
        if cut:
            hub.down = True
            self.wfile.flush()
            self.close_connection = True


@contextmanager
def serving_hub(hub: Hub) -> Iterator[Hub]:
    """Serve it beside the test, in a thread of its own; its address stands in `address`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
