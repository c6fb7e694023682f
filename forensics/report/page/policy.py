"""Restrict what a page may do: run its own scripts, identified by their hashes, and nothing else. It can load nothing and send nothing.

Styles are allowed: Bokeh adds its own to the page while it draws, and a style can neither load nor run anything here.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable


def content_security_policy(scripts: Iterable[str]) -> str:
    """Return the policy for a page with these inline scripts, each exactly as between its tags."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(_hash(s) for s in scripts)}",
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
