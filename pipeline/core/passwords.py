"""Whether the value of a setting gives a secret away: an address with a user, a password or a token in it."""

import re

_USER = r"(?:https?:[/\\]+|:[/\\]{2,})[^/\\?#\s]*@"
_QUERY = r"[?&#;][^=&\s]*(?:token|key|secret|pass|auth|sig)[^=&\s]*="
_IN_ADDRESS = re.compile(f"{_USER}|{_QUERY}", re.I)


def carries_password(name: str, value: str) -> bool:
    """Whether the setting `name` holds such an address. A proxy may be written without `http://`."""
    return bool(_IN_ADDRESS.search(value)) or (name.lower().endswith("_proxy") and "@" in value)
