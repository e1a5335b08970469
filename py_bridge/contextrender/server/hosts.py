"""Which names and addresses are this machine's own."""

from ipaddress import ip_address
from urllib.parse import urlsplit


def is_loopback(address: str) -> bool:
    """Whether only this machine reaches an address that a server listens on."""
    if address.lower() == "localhost":
        return True
    try:
        return ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def names_this_machine(host: str) -> bool:
    """Whether a Host header names this machine; another one is a web page's trick (DNS rebinding)."""
    return is_loopback(host.rsplit(":", 1)[0] if not host.endswith("]") else host)


def is_foreign_page(origin: str) -> bool:
    """Whether an Origin header is that of a page from another machine, which may not use what runs on this one."""
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and not is_loopback(parts.hostname or "")
