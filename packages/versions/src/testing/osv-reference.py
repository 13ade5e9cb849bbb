"""Says of each case whether an OSV record affects a version, independently of the code under test.

Written from the OSV schema ("Evaluation") with the order of each ecosystem taken from its own tool: packaging, dpkg and
rpm. npm's precedence is spelt out. Reads {"records": [...], "cases": [[record, ecosystem, name, version], ...]} from
standard input, prints one verdict a line.
"""
import functools
import json
import re
import subprocess
import sys

import rpm
from packaging.version import InvalidVersion, Version

# --- order: each reads a version or answers None, and compares two that it has read


@functools.cache
def read_pypi(text):
    try:
        return Version(text) if text == text.strip() else None
    except InvalidVersion:
        return None


def compare_pypi(a, b):
    return (a > b) - (a < b)


@functools.cache
def read_dpkg(text):
    if text == "" or text.startswith("-") or text != text.strip():
        return None
    fine = subprocess.run(["dpkg", "--validate-version", text], capture_output=True).returncode == 0
    return text if fine else None


@functools.cache
def compare_dpkg(a, b):
    for word, sign in (("lt", -1), ("eq", 0)):
        if subprocess.run(["dpkg", "--compare-versions", a, word, b]).returncode == 0:
            return sign
    return 1


@functools.cache
def read_rpm(text):
    epoch, colon, rest = text.partition(":")
    if not colon:
        epoch, rest = "0", text
    version, dash, release = rest.partition("-")
    wrong = re.compile(r"[^A-Za-z0-9._+~^]")
    if not epoch.isascii() or not epoch.isdigit() or version == "" or wrong.search(version):
        return None
    if dash and (release == "" or wrong.search(release)):
        return None
    return (epoch, version, release if dash else None)


def compare_rpm(a, b):
    return rpm.labelCompare(a, b)


@functools.cache
def read_npm(text):
    core = r"(0|[1-9][0-9]*)"
    identifier = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
    match = re.fullmatch(
        rf"v?{core}\.{core}\.{core}(?:-({identifier}(?:\.{identifier})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?", text
    )
    if not match:
        return None
    numbers = [int(part) for part in match.group(1, 2, 3)]
    pre = [(0, int(i), "") if i.isdigit() else (1, 0, i) for i in (match.group(4) or "").split(".") if i]
    if max(numbers + [number for _, number, _ in pre]) >= 2**53:
        return None
    return (numbers, 0 if pre else 1, pre)


def compare_npm(a, b):
    return (a > b) - (a < b)


ORDERS = {
    "npm": (read_npm, compare_npm),
    "PyPI": (read_pypi, compare_pypi),
    **dict.fromkeys(["Debian", "Ubuntu"], (read_dpkg, compare_dpkg)),
    **dict.fromkeys(["AlmaLinux", "Rocky Linux", "Red Hat"], (read_rpm, compare_rpm)),
}

# --- matching


def judge(record, ecosystem, name, version):
    taken_back = record.get("withdrawn")
    if taken_back and taken_back > "1970-01-02":
        return "unaffected"
    base = ecosystem.split(":")[0]
    if base not in ORDERS:
        return "undecidable"
    found = []
    for entry in record["affected"]:
        package = entry.get("package")
        if package is None or normal(base, package["name"]) != normal(base, name):
            continue
        recorded = package["ecosystem"]
        if recorded in (ecosystem, base):
            found.append(judge_entry(ORDERS[base], base, entry, version))
        elif recorded.startswith(ecosystem + ":"):
            found.append("undecidable")
    return worst(found)


def normal(base, name):
    return re.sub(r"[-_.]+", "-", name).lower() if base == "PyPI" else name


def judge_entry(order, base, entry, text):
    read, compare = order
    listed = entry.get("versions") or []
    ranges = [each for each in entry.get("ranges", []) if each["type"] != "GIT"]
    if text in listed:
        return "affected"
    version = read(text)
    if version is None:
        return "undecidable" if listed or ranges else "unaffected"
    for each in listed:
        other = read(each)
        if other is not None and compare(version, other) == 0:
            return "affected"
    return worst([judge_range(order, base, each, version) for each in ranges])


def judge_range(order, base, given, version):
    read, compare = order
    if given["type"] not in (("SEMVER", "ECOSYSTEM") if base == "npm" else ("ECOSYSTEM",)):
        return "undecidable"
    reached, limits = [], []
    for event in given["events"]:
        ((kind, text),) = event.items()
        if (kind, text) in (("introduced", "0"), ("limit", "*")):
            at = None
        else:
            at = read(text)
            if at is None:
                return "undecidable"
        if kind == "limit":
            limits.append(at)
            continue
        difference = 1 if at is None else compare(version, at)
        # last_affected ends the range behind its version, the other two change it at theirs.
        if difference > 0 or (difference == 0 and kind != "last_affected"):
            reached.append((at, kind))
    if limits and not any(at is None or compare(version, at) < 0 for at in limits):
        return "unaffected"
    if not reached:
        return "unaffected"
    # Of all that was passed on the way up, the last one decides; at one version the end of a range does.
    rank = {"introduced": 0, "last_affected": 1, "fixed": 2}

    def later(a, b):
        if a[0] is None or b[0] is None:
            place = (a[0] is not None) - (b[0] is not None)
        else:
            place = compare(a[0], b[0])
        return place or rank[a[1]] - rank[b[1]]

    return "affected" if max(reached, key=functools.cmp_to_key(later))[1] == "introduced" else "unaffected"


def worst(verdicts):
    for verdict in ("affected", "undecidable"):
        if verdict in verdicts:
            return verdict
    return "unaffected"


given = json.load(sys.stdin)
for place, *asked in given["cases"]:
    print(judge(given["records"][place], *asked))
