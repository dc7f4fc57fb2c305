"""A scenario as the text of a link and back; a scenario holds no records, so neither does a link."""

from __future__ import annotations

import base64
import binascii
import json
import zlib

from bfsoft import Scenario
from bfsoft.errors import ScenarioError

# Servers and mail programs cut links that are much longer; a longer scenario travels as a file.
LONGEST = 6_000
# What a link may unpack to: a policy of some 100,000 drawn edges.
_LARGEST = 4_000_000


def to_link(scenario: Scenario) -> str:
    """The scenario as URL-safe text: JSON, compressed."""
    text = json.dumps(scenario.plain(), ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii").rstrip("=")


def from_link(link: str) -> Scenario:
    """The scenario that a link's text holds; raises ScenarioError when the text is damaged."""
    try:
        unpacking = zlib.decompressobj()
        packed = base64.b64decode(link.encode("ascii") + b"=" * (-len(link) % 4), altchars=b"-_", validate=True)
        text = unpacking.decompress(packed, _LARGEST)
        if not unpacking.eof:
            raise ScenarioError(
                "the link is cut off or unpacks to more than any scenario holds; ask for the file instead"
            )
        plain = json.loads(text)
    except (binascii.Error, zlib.error, UnicodeError, json.JSONDecodeError, RecursionError):
        raise ScenarioError("the link is damaged, perhaps cut off while copying; ask for it again") from None
    return Scenario.of_plain(plain)
