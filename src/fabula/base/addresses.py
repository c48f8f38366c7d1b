"""Where a web address leads: to this machine, to its network, or out of it."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(address: str) -> bool:
    """Whether an address can be reached only from this machine."""
    try:
        return is_loopback_host(urlsplit(address).hostname or "")
    except ValueError:
        return False


def is_loopback_host(host: str) -> bool:
    """Whether a host name or number means this machine, for itself only."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_near(address: str) -> bool:
    """Whether an address is on this machine or in its network."""
    try:
        host = urlsplit(address).hostname or ""
        return host == "localhost" or ip_address(host).is_private
    except ValueError:
        return False
