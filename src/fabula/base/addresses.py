"""Where an address of a web server leads: to this machine, to its network, or out of it."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(address: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return is_loopback_host(urlsplit(address).hostname or "")
    except ValueError:
        return False


def is_loopback_host(host: str) -> bool:
    """Whether a host, or its number, is this machine as it is known to itself alone."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_near(address: str) -> bool:
    """Whether an address is this machine's, or of the network that it stands in."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ip_address(host).is_private
    except ValueError:
        return False
