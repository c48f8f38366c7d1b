"""Checks of every request of a browser (where it was sent, from which page, by whom) and headers of every answer.

A layer of plain ASGI around the studio and around studies. It protects against

- another program or person: a link with a token, exchanged at `/login` for a cookie that no script reads;
- a foreign name that points to this machine (DNS rebinding): a list of this server's names;
- other sites' pages that send requests (CSRF): the browser's headers about the origin of a request;
- model output that would run or load something: a content security policy that allows only the server's own files.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import Final, Protocol
from urllib.parse import parse_qs, quote, urlsplit

from fabula.server.faults import ErrorBody
from fabula.server.gate import (
    AccessTokens,
    App,
    Bounds,
    Event,
    LeftError,
    Receive,
    RefusedRequest,
    Scope,
    Send,
    again,
    whole_body,
)
from fabula.server.running import address_of

_CYTOSCAPE: Final = "'sha256-pgvDUBa4IjFA2yuSJ2cqcyxmNYJMborsd0ORcRv9vw8='"  # the only rule that it adds to a page
POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {_CYTOSCAPE}; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""The content security policy of every response."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN: Final = frozenset({"same-origin", "none"})  # `none`: typed, or opened from a link outside the browser
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_LOGIN: Final = "/login"
_LONGEST: Final = 500  # characters of a token or an address that are read
_OPEN: Final = "Open the link that the server printed when it started, or the link that you received."
_WRONG: Final = f"This link is invalid or has expired. {_OPEN}"
_STRANGE: Final = f"You are not signed in here. {_OPEN} A program sends its token as `Authorization: Bearer TOKEN`."
_BEARER: Final = "This token is invalid or has expired. Send this server's token as `Authorization: Bearer TOKEN`."
_NO_COOKIE: Final = (
    "Your link is valid, but this browser has not stored its cookie. Allow cookies for this address, or use "
    "another browser or window, and open the link again."
)
_STARTED_ANEW: Final = (
    "The server has been restarted since you signed in. Open its new link, or the link that you received, once "
    "in this browser. Open pages will then work again. Until then, they keep your text."
)
_WEEK: Final = 7 * 24 * 3600


class Keys(Protocol):
    """The keys that admit a person."""

    def who(self, token: str) -> str:
        """The name of the holder of a token; empty if nobody holds it."""


@dataclass(frozen=True)
class OwnKeys:
    """The keys of a server that belongs to one person: the holder of any of its tokens is that person."""

    tokens: AccessTokens

    def who(self, token: str) -> str:
        """`author` for a token of the server."""
        return "author" if self.tokens.which(b"Bearer " + token.encode("utf-8", "replace")) is not None else ""


@dataclass(frozen=True)
class Names:
    """The names of a server that are allowed in the `Host` of a request.

    Attributes:
        names: the allowed names, in lower case and without a port.
        addresses: whether any numeric address is allowed: no foreign name can point to it.
    """

    names: frozenset[str] = _LOOPBACK
    addresses: bool = False

    @classmethod
    def of(cls, host: str, more: Iterable[str] = ()) -> Names:
        """The names of a server that listens at `host`, and the names of a proxy in front of it."""
        names = _LOOPBACK | {name.casefold() for name in more}
        bare = host.strip("[]")
        try:
            outside = not ipaddress.ip_address(bare).is_loopback
        except ValueError:
            outside = bare != "localhost"
        if outside:
            own = socket.gethostname().casefold()
            names |= {host.casefold(), own, f"{own}.local"}
        return cls(names, outside)

    def allow(self, host: str) -> bool:
        """Whether a request with this `Host` is for this server."""
        name = _netloc(f"//{host}").casefold()
        if "@" in name:  # user information is not part of a host name, and only an attacker sends it
            return False
        bare = name.rpartition(":")[0] if not name.endswith("]") and ":" in name else name
        if bare in self.names:
            return True
        try:
            return self.addresses and bool(ipaddress.ip_address(bare.strip("[]")))
        except ValueError:
            return False


@dataclass
class Browser:
    """The layer around an application.

    Attributes:
        app: receives the admitted requests, with the name of the sender as `request.state.who`.
        keys: the keys of the server.
        names: the names of the server.
        cookie: the name of the cookie; each of several servers on one machine has its own.
        page: makes the page that describes a problem.
        bounds: the limits of requests.
        line: makes the line that describes a problem on the page whose form was sent; without it, a form gets JSON.
        open_to_all: prefixes of addresses that need no key, such as those of style sheets.
    """

    app: App
    keys: Keys
    names: Names
    cookie: str
    page: Callable[[ErrorBody], str]
    bounds: Bounds
    line: Callable[[ErrorBody], str] | None = None
    open_to_all: tuple[str, ...] = ("/static/",)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit a request, or answer it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        guarded = _guarded(send)
        try:
            self._check_where(scope)
            _check_from(scope)
            if scope["path"] == _LOGIN:
                await self._login(scope, guarded)
                return
            scope.setdefault("state", {})["who"] = self._who(scope)
            body = await whole_body(scope, receive, self.bounds)
        except RefusedRequest as refused:
            await self._refuse(scope, refused.problem, guarded)
        except LeftError:
            return
        else:
            await self.app(scope, again(body, receive), guarded)

    def _check_where(self, scope: Scope) -> None:
        hosts = _all(scope, b"host")
        if len(hosts) != 1 or not self.names.allow(hosts[0]):
            raise RefusedRequest(
                ErrorBody(
                    421,
                    f"This server is not named {(hosts or [''])[0][:100]!r}. Open the address that it printed when it "
                    "started.",
                    code="foreign_host",
                )
            )

    def _who(self, scope: Scope) -> str:
        """The sender of a request."""
        if scope["path"].startswith(self.open_to_all):
            return ""
        if bearer := _bearer(scope):
            return self._holder(bearer, _BEARER)
        cookie = _cookie(scope, self.cookie)
        return self._holder(cookie, _STARTED_ANEW if cookie else _NO_COOKIE if _has_just_signed_in(scope) else _STRANGE)

    def _holder(self, token: str, unknown: str) -> str:
        """The holder of a token; `unknown` is the message if there is none."""
        who = self.keys.who(token[:_LONGEST]) if token else ""
        if not who:
            raise RefusedRequest(ErrorBody(401, unknown, "authentication_error", "invalid_api_key"))
        return who

    async def _login(self, scope: Scope, send: Send) -> None:
        """Exchange the token of a link for a cookie."""
        asked = parse_qs(scope["query_string"].decode("latin-1")[: 4 * _LONGEST], errors="replace")
        token = asked.get("token", [""])[0]
        self._holder(token, _WRONG)
        # Not a redirect: if the link was opened from another page, a browser would not send the cookie with it.
        page = _GO_ON.format(escape(_own_address(asked.get("next", ["/"])[0])))
        cookie = f"{self.cookie}={token}; Path=/; Max-Age={_WEEK}; HttpOnly; SameSite=Strict"
        await _send_page(send, 200, page, [(b"set-cookie", cookie.encode("latin-1", "replace"))])

    async def _refuse(self, scope: Scope, problem: ErrorBody, send: Send) -> None:
        """Refuse a request: with a page for a person, a line for a form on a page, or JSON for a program."""
        if self.line is not None and _all(scope, b"hx-request"):
            await _send_page(send, problem.status, self.line(problem))
            return
        wants = "".join(_all(scope, b"accept"))
        if "text/html" in wants and not scope["path"].startswith("/api/"):
            await _send_page(send, problem.status, self.page(problem))
            return
        await _send(send, problem.status, "application/json", problem.bytes, _raw(problem.headers))


_GO_ON: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>fabula</title><link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0; url={0}"></head><body><main><p><a href="{0}">Continue</a></p></main></body>'
    "</html>"
)


def _check_from(scope: Scope) -> None:
    """Refuse requests from another site's page, except for following a link to a page."""
    sites = _all(scope, b"sec-fetch-site")
    change = scope["method"] not in _SAFE
    if sites:
        opens = _all(scope, b"sec-fetch-mode") == ["navigate"] and _all(scope, b"sec-fetch-dest") == ["document"]
        fine = all(site in _OWN for site in sites) or (not change and opens)
    else:  # an older browser at least names the origin of a change; a program sends neither
        origins, host = _all(scope, b"origin"), "".join(_all(scope, b"host"))
        fine = not change or all(_netloc(origin) == host for origin in origins)
    if not fine:
        raise RefusedRequest(
            ErrorBody(
                403,
                "This request came from another website and was refused. Use the pages of this server.",
                code="cross_site_request",
            )
        )


def _netloc(address: str) -> str:
    """The name and port in an address; empty if it is not an address."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return ""


def _own_address(wanted: str) -> str:
    """The requested address if it is on this server; otherwise its first page."""
    own = wanted.startswith("/") and not wanted.startswith("//") and "\\" not in wanted and wanted.isprintable()
    return wanted[:_LONGEST] if own else "/"


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for header, value in scope["headers"] if header == name]


def _bearer(scope: Scope) -> str:
    given = _all(scope, b"authorization")
    kind, _, token = (given[0] if len(given) == 1 else "").strip().partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _has_just_signed_in(scope: Scope) -> bool:
    """Whether a request comes from the page to which a link with a token leads."""
    return any(urlsplit(page).path == _LOGIN for page in _all(scope, b"referer") if _netloc(page))


def _cookie(scope: Scope, name: str) -> str:
    try:
        found = SimpleCookie("; ".join(_all(scope, b"cookie"))).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _guarded(send: Send) -> Send:
    """Send with the headers of every answer; an answer's own `cache-control` is kept."""

    async def send_guarded(event: Event) -> None:
        if event["type"] == "http.response.start":
            headers = list(event.get("headers", ()))
            if all(name.lower() != b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            event["headers"] = headers + _HEADERS
        await send(event)

    return send_guarded


_HEADERS: Final = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]


def _raw(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items() if name != "content-type"]


async def _send_page(send: Send, status: int, page: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    await _send(send, status, "text/html; charset=utf-8", page.encode(), headers or [])


async def _send(send: Send, status: int, kind: str, body: bytes, headers: list[tuple[bytes, bytes]]) -> None:
    more = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": more + headers})
    await send({"type": "http.response.body", "body": body})


# how a browser signs in -----------------------------------------------------------------------------------------------


def cookie_at(opened: socket.socket, of: str) -> str:
    """The name of a server's cookie, which includes its port: a browser sends a machine's cookies to all its ports."""
    return f"{of}-{opened.getsockname()[1]}"


def link_to(opened: socket.socket, token: str = "", page: str = "/") -> str:
    """The link that signs a browser in and opens a page; without a token, only the address."""
    following = "" if page == "/" else f"&next={quote(page)}"
    return f"{address_of(opened)}/login?token={quote(token)}{following}" if token else address_of(opened) + page
