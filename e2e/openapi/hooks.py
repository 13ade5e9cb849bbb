"""Hooks of schemathesis: what Python's regular expressions lack."""

import re

import schemathesis

PROPERTY = re.compile(r"\\p\{(\w+)\}")

# The common characters of each Unicode category, as ranges of a character class. Fewer than the category has, so that
# a text that is made to break a pattern breaks the real one, too.
CATEGORIES = {
    "Cc": r"\x00-\x1f\x7f-\x9f",
    "Cf": r"\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff",
    "Cs": r"\ud800-\udfff",
    "Zl": r"\u2028",
    "Zp": r"\u2029",
    "C": r"\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\ud800-\udfff",
    "Z": r" \xa0\u2000-\u200a\u2028\u2029\u202f\u3000",
}


def rewrite(node):
    if isinstance(node, list):
        for item in node:
            rewrite(item)
    if isinstance(node, dict):
        if isinstance(node.get("pattern"), str):
            node["pattern"] = PROPERTY.sub(lambda match: CATEGORIES[match.group(1)], node["pattern"])
        for value in node.values():
            rewrite(value)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """ECMAScript's `\\p{…}` is valid in JSON Schema, but Python's `re` does not know it and no text would be generated."""
    rewrite(raw_schema)
