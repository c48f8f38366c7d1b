"""Keeps processes that a test starts on this machine; Python imports a module of this name by itself at its start."""

from __future__ import annotations

import sys

_LOCAL = ("", "localhost", "::1", "None")


def _watch(event: str, args: tuple[object, ...]) -> None:
    if "guard" in sys.modules:  # a process of pytest's own, which has the plugin
        return
    if event in {"socket.connect", "socket.sendto"}:
        address = args[1]
        host = str(address[0]) if isinstance(address, tuple) else ""
    elif event == "socket.getaddrinfo":
        host = args[0].decode() if isinstance(args[0], bytes) else str(args[0])
    else:
        return
    if host not in _LOCAL and not host.startswith("127."):
        raise RuntimeError(f"A process that a test started tried to reach {host!r}. Tests stay on this machine.")


sys.addaudithook(_watch)
