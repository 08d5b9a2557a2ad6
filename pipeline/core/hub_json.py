"""Puts our reader between the Hub's client and what the Hub answers, so that the client parses only what we have read.

The client has one session in a process; the hook is hung on it once, whoever comes first.
"""

import json
from typing import Any

from pipeline.core.json_in import FROM_FILE, BadJson, read_json


def watch_hub() -> Any:
    """Hang the hook on the client's session, which is returned."""
    from huggingface_hub.utils import get_session

    session = get_session()
    hooks = session.event_hooks["response"]
    if _read not in hooks:
        hooks.insert(0, _read)
    return session


def _read(response: Any) -> None:
    """Read and mend a JSON answer. Files of a repository are left alone: their bytes are what was asked for.

    Raises:
        BadJson: it cannot be read, under a status that says that all went well.
    """
    if "json" not in response.headers.get("content-type", "") or "/resolve/" in response.url.path:
        return
    raw = response.read()
    if not raw:
        return
    try:
        value = read_json(raw, FROM_FILE)
    except BadJson:
        if response.status_code < 400:
            raise
        value = {}
    response._content = json.dumps(value).encode()
