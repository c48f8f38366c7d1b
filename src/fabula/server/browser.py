"""What every request of a browser passes: where it was sent, from which page, by whom; and what every answer says.

A layer of plain ASGI around the studio and around studies. Against

- another program or person: a link with a token, exchanged at `/login` for a cookie that no script reads;
- a foreign name that points at this machine (DNS rebinding): a list of the names that this server goes by;
- pages of others that send requests (CSRF): what the browser says about where a request comes from;
- text of a model that would run or load something: a content security policy that allows the server's own files alone.
"""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import parse_qs, quote, urlsplit

from fabula.server.faults import ErrorBody
from fabula.server.gate import Bounds, LeftError, RefusedRequest, again, whole_body
from fabula.server.running import address_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from fabula.server.gate import AccessTokens, App, Event, Receive, Scope, Send

_CYTOSCAPE: Final = "'sha256-pgvDUBa4IjFA2yuSJ2cqcyxmNYJMborsd0ORcRv9vw8='"  # the one rule that it adds to a page
POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' {_CYTOSCAPE}; connect-src 'self'; "
    "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""The content security policy of every answer."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN: Final = frozenset({"same-origin", "none"})  # `none`: typed, or opened from a link outside the browser
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_LOGIN: Final = "/login"
_LONGEST: Final = 500  # letters of a token or an address that are looked at
_OPEN: Final = "Open the link that was printed when the server was started, or that you were given."
_WRONG: Final = f"This link is not, or no longer, right. {_OPEN}"
_STRANGE: Final = f"You are not signed in here. {_OPEN} A program sends its token as `Authorization: Bearer TOKEN`."
_BEARER: Final = "This token is not, or no longer, right. Send the one of this server as `Authorization: Bearer TOKEN`."
_NO_COOKIE: Final = (
    "Your link is right, but this browser has not kept the cookie that says so. Let it keep cookies for this address, "
    "or take another browser or window, and open the link again."
)
_STARTED_ANEW: Final = (
    "The server was started anew since you signed in. Open its new link, or the one that you were given, once in this "
    "browser: pages that are open go on then, and what you wrote on them stays there meanwhile."
)
_WEEK: Final = 7 * 24 * 3600


class Keys(Protocol):
    """Who may come in."""

    def who(self, token: str) -> str:
        """The name of whoever holds a token; empty where nobody does."""


@dataclass(frozen=True)
class OwnKeys:
    """The keys of a server that belongs to one person: whoever holds one of its tokens is that person."""

    tokens: AccessTokens

    def who(self, token: str) -> str:
        """`author` for a token of the server."""
        return "author" if self.tokens.which(b"Bearer " + token.encode("utf-8", "replace")) is not None else ""


@dataclass(frozen=True)
class Names:
    """The names that a server goes by, in the `Host` of a request.

    Attributes:
        names: those allowed, in small letters and without a port.
        addresses: whether any numeric address will do: no foreign name can point there.
    """

    names: frozenset[str] = _LOOPBACK
    addresses: bool = False

    @classmethod
    def of(cls, host: str, more: Iterable[str] = ()) -> Names:
        """Those of a server that listens at `host`, and those that a proxy before it goes by."""
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
        if "@" in name:  # what stands before it is no part of a host's name, and only who means harm sends it
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
        app: gets what is let in, with the name of who sends it as `request.state.who`.
        keys: know who holds a token.
        names: that the server goes by.
        cookie: its name; of several servers on one machine each has its own.
        page: makes the page that says a problem in words.
        bounds: of requests.
        line: makes the line that says a problem on a page whose form was sent; without it a form gets JSON.
        open_to_all: beginnings of addresses that need no key, such as those of style sheets.
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
        """Let a request in, or answer it."""
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
                    f"This server does not go by the name {(hosts or [''])[0][:100]!r}. Open the address that it "
                    "printed when it was started.",
                    code="foreign_host",
                )
            )

    def _who(self, scope: Scope) -> str:
        """Who sends a request."""
        if scope["path"].startswith(self.open_to_all):
            return ""
        if bearer := _bearer(scope):
            return self._holder(bearer, _BEARER)
        cookie = _cookie(scope, self.cookie)
        return self._holder(cookie, _STARTED_ANEW if cookie else _NO_COOKIE if _has_just_signed_in(scope) else _STRANGE)

    def _holder(self, token: str, unknown: str) -> str:
        """Who holds a token; where nobody does, `unknown` is said."""
        who = self.keys.who(token[:_LONGEST]) if token else ""
        if not who:
            raise RefusedRequest(ErrorBody(401, unknown, "authentication_error", "invalid_api_key"))
        return who

    async def _login(self, scope: Scope, send: Send) -> None:
        """Exchange the token of a link for a cookie."""
        asked = parse_qs(scope["query_string"].decode("latin-1")[: 4 * _LONGEST], errors="replace")
        token = asked.get("token", [""])[0]
        self._holder(token, _WRONG)
        # No redirect: where the link was opened from another page, a browser would not send the cookie along with it.
        page = _GO_ON.format(escape(_own_address(asked.get("next", ["/"])[0])))
        cookie = f"{self.cookie}={token}; Path=/; Max-Age={_WEEK}; HttpOnly; SameSite=Strict"
        await _send_page(send, 200, page, [(b"set-cookie", cookie.encode("latin-1", "replace"))])

    async def _refuse(self, scope: Scope, problem: ErrorBody, send: Send) -> None:
        """A page for a person, a line for a form on a page, JSON for a program."""
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
    '<meta http-equiv="refresh" content="0; url={0}"></head><body><main><p><a href="{0}">Go on</a></p></main></body>'
    "</html>"
)


def _check_from(scope: Scope) -> None:
    """Refuse what another site's page sends; following a link to a page is no sending."""
    sites = _all(scope, b"sec-fetch-site")
    change = scope["method"] not in _SAFE
    if sites:
        opens = _all(scope, b"sec-fetch-mode") == ["navigate"] and _all(scope, b"sec-fetch-dest") == ["document"]
        fine = all(site in _OWN for site in sites) or (not change and opens)
    else:  # a browser that does not say it names the origin of a change at least; a program says neither
        origins, host = _all(scope, b"origin"), "".join(_all(scope, b"host"))
        fine = not change or all(_netloc(origin) == host for origin in origins)
    if not fine:
        raise RefusedRequest(
            ErrorBody(
                403,
                "This was sent by a page of another site, and is not done. Do it on the page of this server itself.",
                code="cross_site_request",
            )
        )


def _netloc(address: str) -> str:
    """The name and port in an address; empty where it is none."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return ""


def _own_address(wanted: str) -> str:
    """An address of this server; its first page where another is wanted."""
    own = wanted.startswith("/") and not wanted.startswith("//") and "\\" not in wanted and wanted.isprintable()
    return wanted[:_LONGEST] if own else "/"


def _all(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for header, value in scope["headers"] if header == name]


def _bearer(scope: Scope) -> str:
    given = _all(scope, b"authorization")
    kind, _, token = (given[0] if len(given) == 1 else "").strip().partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _has_just_signed_in(scope: Scope) -> bool:
    """Whether a request comes from the page that a link with a token leads to."""
    return any(urlsplit(page).path == _LOGIN for page in _all(scope, b"referer") if _netloc(page))


def _cookie(scope: Scope, name: str) -> str:
    try:
        found = SimpleCookie("; ".join(_all(scope, b"cookie"))).get(name)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _guarded(send: Send) -> Send:
    """Send with the headers that every answer has; a `cache-control` of the answer's own stays."""

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


# how a browser comes in -----------------------------------------------------------------------------------------------


def cookie_at(opened: socket.socket, of: str) -> str:
    """The name of a server's cookie: a browser sends the cookies of one machine to all its ports."""
    return f"{of}-{opened.getsockname()[1]}"


def link_to(opened: socket.socket, token: str = "", page: str = "/") -> str:
    """The link that signs a browser in and opens a page; without a token, the address alone."""
    following = "" if page == "/" else f"&next={quote(page)}"
    return f"{address_of(opened)}/login?token={quote(token)}{following}" if token else address_of(opened) + page
