"""Verifies an evidence bundle of Tidegate. Written from docs/evidence.md alone, with the standard library and, for Ed25519,
the package `cryptography` or the program `openssl`.

    python3 verify_evidence.py FILE PIN [PIN ...]

A PIN is a public key of the fleet or the SHA-256 of a root document, in hex. Prints one JSON object."""

import base64
import datetime
import hashlib
import json
import math
import re
import subprocess
import sys
import tempfile

try:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError:
    Ed25519PublicKey = None

BLOCK = 512
TYPE = "application/vnd.tidegate.%s.v1+json"
NAME = re.compile(r"([a-z]+/){0,2}[A-Za-z0-9]+\.[a-z]+")
TAIL = re.compile(r',"position":([0-9]+),"previous_hash":(null|"[0-9a-f]{64}"),"severity":"[a-z]+","type":"[A-Za-z_]+"\}')


class Fault(Exception):
    def __init__(self, file, detail, line=None, field=None):
        super().__init__(detail)
        self.place = {"file": file, "line": line, "field": field, "detail": detail}


# Archive


def header_of(name, size):
    fields = {0: name, 100: "0000644\0", 108: "0000000\0", 116: "0000000\0", 124: "%011o\0" % size}
    fields |= {136: "0" * 11 + "\0", 148: " " * 8, 156: "0", 257: "ustar\00000", 329: "0000000\0", 337: "0000000\0"}
    fields[345] = "evidence"
    made = bytearray(BLOCK)
    for at, text in fields.items():
        made[at : at + len(text)] = text.encode("ascii")
    made[148:156] = ("%06o\0 " % sum(made)).encode("ascii")
    return bytes(made)


def walk_archive(data):
    files, at = {}, 0
    while not (at + 2 * BLOCK == len(data) and not any(data[at:])):
        place = "the archive at byte %d" % at
        header = data[at : at + BLOCK]
        name = header.split(b"\0", 1)[0].decode("latin-1")
        size_text = header[124:135]
        if not NAME.fullmatch(name) or len(name) > 99 or not re.fullmatch(rb"[0-7]{11}", size_text):
            raise Fault(place, "no header of a bundle")
        size = int(size_text, 8)
        if header != header_of(name, size):
            raise Fault(place, "no header of a bundle")
        if size > (6 if name == "manifest.json" else 8) << 20 or name in files or len(files) > 24000:
            raise Fault(name, "too large, twice, or one file too many")
        end = at + BLOCK + size
        padding = -size % BLOCK
        if end + padding > len(data) or any(data[end : end + padding]):
            raise Fault(name, "cut off, or filled with something else than zeros")
        files[name] = data[at + BLOCK : end]
        at = end + padding
    if list(files)[-1:] != ["manifest.json"]:
        raise Fault("manifest.json", "is not the last file")
    return files


# JSON


def strict_json(data, file, line=None):
    def once(pairs):
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("duplicate key")
        return dict(pairs)

    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=once)
    except ValueError as error:
        raise Fault(file, str(error), line) from None


def canonical(value):
    """RFC 8785, for the values that events and manifests have: texts, integers, null, lists and objects."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{%s}" % ",".join(canonical(name) + ":" + canonical(value[name]) for name in names)
    if isinstance(value, list):
        return "[%s]" % ",".join(map(canonical, value))
    return json.dumps(value, ensure_ascii=False)


def lines_of(name, data):
    for number, line in enumerate(split_lines(data), 1):
        if not line.endswith(b"\n"):
            raise Fault(name, "does not end with a line break", number)
        value = strict_json(line, name, number)
        if not isinstance(value, dict):
            raise Fault(name, "is no object", number)
        yield number, value


def split_lines(data):
    return [line for line in re.split(rb"(?<=\n)", data) if line]


# Signatures


def decode(text):
    plain = text.replace("-", "+").replace("_", "/")
    data = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    if base64.b64encode(data).decode().rstrip("=") != plain.rstrip("="):
        raise ValueError("base64 with loose bits")
    return data


def payload_of(envelope, kind):
    """The signed bytes and the signatures of an envelope of this type; nothing is verified yet."""
    try:
        if envelope["payloadType"] != kind:
            return None, b"", []
        body = decode(envelope["payload"])
        head = "DSSEv1 %d %s %d " % (len(kind.encode()), kind, len(body))
        signatures = [decode(each["sig"]) for each in envelope["signatures"]]
        return body, head.encode() + body, signatures[:16]
    except (KeyError, TypeError, ValueError):
        return None, b"", []


def signers(envelope, keys, kind):
    """Those of the public keys (hex) that signed."""
    _, message, signatures = payload_of(envelope, kind)
    return {key for key in keys if any(is_signed(key, signature, message) for signature in signatures)}


def is_signed(key, signature, message):
    if Ed25519PublicKey is None:
        return is_signed_by_openssl(key, signature, message)
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, message)
        return True
    except (InvalidSignature, ValueError):
        return False


def is_signed_by_openssl(key, signature, message):
    der = bytes.fromhex("302a300506032b6570032100" + key)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in {"key": der, "sig": signature, "text": message}.items():
            with open(folder + "/" + name, "wb") as file:
                file.write(data)
        command = "openssl pkeyutl -verify -pubin -keyform DER -inkey key -rawin -in text -sigfile sig".split()
        return subprocess.run(command, cwd=folder, capture_output=True).returncode == 0


def milliseconds(time):
    return datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp() * 1000


def sha256(data):
    return hashlib.sha256(data).hexdigest()


# Keys


def vouch(lines, pins):
    roots, trusted, standing, file, number = {}, None, None, "keys/0001.ndjson", 1
    for file, number, line in lines:
        if "root" in line:
            kind = TYPE % "root"
            body, _, _ = payload_of(line["root"], kind)
            root = strict_json(body or b"", file, number)
            if len(signers(line["root"], root["keys"], kind)) < root["threshold"]:
                raise Fault(file, "too few of its own keys signed this root", number, "root")
            digest = sha256(body)
            roots[digest] = root
            if trusted is None:
                trusted = root if digest in pins else None
            elif root["version"] == trusted["version"] + 1 and root["fleet_id"] == trusted["fleet_id"] and (
                len(signers(line["root"], trusted["keys"], kind)) >= trusted["threshold"]
            ):
                trusted = root
            else:
                raise Fault(file, "the root before it did not sign this root", number, "root")
            continue
        kind = TYPE % "keyset"
        envelope = line.get("key_set")
        rooted = trusted is not None and len(signers(envelope, trusted["keys"], kind)) >= trusted["threshold"]
        before = standing["keys"] if standing else []
        revoked = {key["public_key_hex"] for key in before if key["status"] == "revoked"}
        active = {key["public_key_hex"] for key in before if key["status"] == "active"}
        if not rooted and not signers(envelope, (pins - revoked) | active, kind):
            if standing is None:
                continue
            raise Fault(file, "no key of the set before it signed this key set", number, "key_set")
        body, _, _ = payload_of(envelope, kind)
        found = strict_json(body, file, number)
        if standing is not None:
            if found["version"] <= standing["version"] or found["fleet_id"] != standing["fleet_id"]:
                raise Fault(file, "does not follow the key set before it", number, "key_set")
            new = {key["public_key_hex"] for key in found["keys"]} - revoked - active
            if trusted is not None and not rooted and new:
                raise Fault(file, "the root did not sign for its new key", number, "key_set")
        standing = found
        trusted = trusted or roots.get(found.get("root_sha256"))
    if standing is None:
        raise Fault(file, "no key set is signed by a pinned key or root", number)
    return standing


# SHA-256 that goes on from a state (FIPS 180-4)


def _primes(count):
    found, n = [], 2
    while len(found) < count:
        if all(n % prime for prime in found):
            found.append(n)
        n += 1
    return found


def _cube_root_bits(n):
    """The first 32 bits of the fraction of the cube root."""
    scaled, root = n << 96, 1 << 35
    low, high = 0, root << 4
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**3 <= scaled else (low, middle - 1)
    return low & 0xFFFFFFFF


ROUND = [_cube_root_bits(prime) for prime in _primes(64)]
MASK = 0xFFFFFFFF


def _rotate(x, n):
    return (x >> n | x << (32 - n)) & MASK


def continue_sha256(state_hex, taken, tail):
    state = [int(state_hex[i : i + 8], 16) for i in range(0, 64, 8)]
    message = tail + b"\x80" + b"\0" * (-(len(tail) + 9) % 64) + ((taken + len(tail)) * 8).to_bytes(8, "big")
    for at in range(0, len(message), 64):
        w = [int.from_bytes(message[at + i : at + i + 4], "big") for i in range(0, 64, 4)]
        for i in range(16, 64):
            s0 = _rotate(w[i - 15], 7) ^ _rotate(w[i - 15], 18) ^ w[i - 15] >> 3
            s1 = _rotate(w[i - 2], 17) ^ _rotate(w[i - 2], 19) ^ w[i - 2] >> 10
            w.append((w[i - 16] + s0 + w[i - 7] + s1) & MASK)
        a, b, c, d, e, f, g, h = state
        for i in range(64):
            s1 = _rotate(e, 6) ^ _rotate(e, 11) ^ _rotate(e, 25)
            t1 = h + s1 + (e & f ^ ~e & MASK & g) + ROUND[i] + w[i]
            s0 = _rotate(a, 2) ^ _rotate(a, 13) ^ _rotate(a, 22)
            t2 = s0 + (a & b ^ a & c ^ b & c)
            a, b, c, d, e, f, g, h = (t1 + t2) & MASK, a, b, c, (d + t1) & MASK, e, f, g
        state = [(x + y) & MASK for x, y in zip(state, (a, b, c, d, e, f, g, h))]
    return "".join("%08x" % word for word in state)


# Lines


class Checks:
    def __init__(self, manifest, keys):
        self.fleet, self.chain = manifest["fleet_id"], manifest["chain"]
        self.keys = {key["public_key_hex"]: key for key in keys}
        self.last = dict(self.chain["start"]) if self.chain else None
        self.signed_up_to, self.shown, self.withheld = None, 0, 0
        self.said, self.acts, self.bulk = {}, {}, {"approvals": 0, "confirmed": 0}

    def open(self, envelope, kind, time, at, field):
        file, number = at
        by = signers(envelope, self.keys, TYPE % kind)
        if not by:
            raise Fault(file, "is signed by no key of the fleet", number, field)
        body, _, _ = payload_of(envelope, TYPE % kind)
        payload = strict_json(body, file, number)
        key = self.keys[min(by)]
        if key["status"] == "revoked" and not milliseconds(payload[time]) <= milliseconds(key["revoked_at"]):
            raise Fault(file, "its key had been revoked before it signed", number, field)
        if payload.get("fleet_id") != self.fleet:
            raise Fault(file, "is of another fleet", number, field)
        return payload, sha256(body)

    def take(self, folder, line, at):
        file, number = at
        signed = {"policies": "policy", "statements": "vex-statement", "origins": "origin"}
        if folder in signed:
            _, digest = self.open(line["envelope"], signed[folder], "created_at", at, "envelope")
            if digest != line["sha256"]:
                raise Fault(file, "is not the SHA-256 of the signed text", number, "sha256")
        elif folder == "approvals":
            payload, digest = self.open(line["token"], "approval", "issued_at", at, "token")
            wanted = {"sha256": digest, "token_id": payload["token_id"], "agent_id": payload["agent_id"]}
            wanted["update_ids"] = [update["update_id"] for update in payload["updates"]]
            for name, value in wanted.items():
                if line[name] != value:
                    raise Fault(file, "is another in the token", number, name)
            for i, result in enumerate(line["results"]):
                if result["approval_sha256"] != digest:
                    raise Fault(file, "is of another approval", number, "results[%d].approval_sha256" % i)
            if "bulk_id" in line:
                self.bulk["approvals"] += line["bulk_id"] is not None
                self.said[line["token_id"]] = {"line": line, "at": at, "decision": None}
        elif folder == "decisions":
            if sha256(line["record"].encode()) != line["sha256"]:
                raise Fault(file, "is not the SHA-256 of the record", number, "sha256")
            record = json.loads(line["record"])
            if record.get("token_id") in self.said:
                self.said[record["token_id"]]["decision"] = (record.get("bulk_id"), at)
        elif folder == "events":
            self.event(line, at)
            if "event" in line:
                self.bulk_event(line["event"], at)

    def event(self, line, at):
        file, number = at
        if self.chain is None:
            self.shown += 1
        elif "checkpoint" in line:
            payload, _ = self.open(line["checkpoint"], "checkpoint", "created_at", at, "checkpoint")
            if (payload["position"], payload["hash"]) != (self.last["position"], self.last["hash"]):
                raise Fault(file, "signs another event than the one before it", number, "checkpoint")
            self.signed_up_to = payload["position"]
        elif "withheld" in line:
            event = line["withheld"]
            ends = TAIL.search(event["tail"])
            if ends is None or ends.end() != len(event["tail"]):
                raise Fault(file, "does not end as an event", number, "withheld.tail")
            if int(ends[1]) != event["position"] or json.loads(ends[2]) != event["previous_hash"]:
                raise Fault(file, "differs from the hashed text", number, "withheld.tail")
            digest = continue_sha256(event["state"], event["blocks"] * 64, event["tail"].encode())
            if digest != event["hash"]:
                raise Fault(file, "does not fit the hash", number, "withheld.hash")
            self.follow(event, at)
            self.withheld += 1
        else:
            event = line["event"]
            covered = {name: value for name, value in event.items() if name != "hash"}
            if sha256(canonical(covered).encode()) != event["hash"]:
                raise Fault(file, "does not match its hash", number, "event.hash")
            self.follow(event, at)
            self.shown += 1

    def bulk_event(self, event, at):
        if event["type"] == "bulk_approval_asked":
            asked = json.loads(event["content"])
            whole = len(asked["updates"]) == asked["update_count"]
            self.acts[event["id"]] = (event["actor"], set(asked["updates"]), whole)
        elif event["type"] == "update_approved":
            approved = json.loads(event["content"])
            said = self.said.pop(approved["token_id"], None)
            if said is None:
                return
            if said["line"]["bulk_id"] != approved.get("bulk_id"):
                raise Fault(said["at"][0], "its event names another bulk approval", said["at"][1], "bulk_id")
            self.same_decision(said)
            if approved.get("bulk_id") in self.acts:
                actor, updates, whole = self.acts[approved["bulk_id"]]
                if actor != approved["approved_by"]:
                    raise Fault(at[0], "somebody else asked for the bulk approval", at[1], "event.content")
                if updates.issuperset(said["line"]["update_ids"]):
                    self.bulk["confirmed"] += 1
                elif whole:
                    raise Fault(at[0], "the bulk approval did not ask for these updates", at[1], "event.content")

    def same_decision(self, said):
        if said["decision"] is not None and said["decision"][0] != said["line"]["bulk_id"]:
            file, number = said["decision"][1]
            raise Fault(file, "names another bulk approval than its approval", number, "record")

    def follow(self, event, at):
        file, number = at
        if self.chain["start"]["position"] > 0 and self.signed_up_to is None:
            raise Fault(file, "no checkpoint signs the event before it", number, "previous_hash")
        if event["position"] != self.last["position"] + 1 or event["previous_hash"] != self.last["hash"]:
            raise Fault(file, "does not follow the event before it", number, "previous_hash")
        self.last = {"position": event["position"], "hash": event["hash"]}


# Numbers


def member(line, path):
    for name in path.split("."):
        if not isinstance(line, dict) or name not in line:
            return None
        line = line[name]
    return line


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Count:
    def __init__(self, rule):
        self.rule, self.values, self.first = rule, [], None

    def take(self, line, place):
        for path, wanted in self.rule["where"].items():
            value = member(line, path)
            if isinstance(wanted, list):
                if not (is_number(value) and wanted[0] <= value <= wanted[1]):
                    return
            elif value != wanted or type(value) is not type(wanted):
                return
        value = 0 if self.rule["member"] is None else member(line, self.rule["member"])
        if is_number(value):
            self.values.append(value)
            self.first = self.first or place

    def matches(self):
        values, how = sorted(self.values), self.rule["how"]
        found = {"count": len(values), "sum": sum(values)}.get(how)
        if found is None and values:
            share = {"median": 0.5, "p90": 0.9, "max": 1.0}[how]
            found = values[math.ceil(len(values) * share) - 1]
        return [self.rule["lines"], self.rule["first"], self.rule["value"]] == [len(values), self.first, found]


# All of it


def verify(data, pins):
    files = walk_archive(data)
    names = [name for name in files if name.startswith("keys/")]
    key_set = vouch(((name, number, line) for name in names for number, line in lines_of(name, files[name])), pins)
    manifest, key_id = open_manifest(files["manifest.json"], key_set)
    listed = {file["name"]: file for file in manifest["files"]}
    if list(listed) != sorted(listed) or len(listed) != len(manifest["files"]):
        raise Fault("manifest.json", "its files are not sorted", None, "files")
    for name in files.keys() ^ (listed.keys() | {"manifest.json"}):
        raise Fault(name, "is in the archive or in the manifest alone")
    checks = Checks(manifest, key_set["keys"])
    rules = [line for _, line in lines_of("figures.ndjson", files["figures.ndjson"])]
    counts = [Count(rule) for rule in rules]
    seen = dict.fromkeys(manifest["lines"], 0)
    for name, content in files.items():
        if name == "manifest.json":
            continue
        if len(content) != listed[name]["bytes"] or sha256(content) != listed[name]["sha256"]:
            raise changed(name, files)
        part = re.fullmatch(r"([a-z]+)/[0-9]{4,5}\.ndjson", name)
        if part is None:
            continue
        folder = part[1]
        for number, line in lines_of(name, content):
            checks.take(folder, line, (name, number))
            seen[folder] += 1
            for count in counts:
                if count.rule["of"] == folder:
                    count.take(line, "%s:%d" % (name, number))
    if checks.chain and checks.last != checks.chain["end"]:
        raise Fault("manifest.json", "the events end elsewhere", None, "chain.end")
    for said in checks.said.values():
        checks.same_decision(said)
    if seen != manifest["lines"]:
        raise Fault("manifest.json", "folders have other numbers of lines", None, "lines")
    for number, count in enumerate(counts, 1):
        if not count.matches():
            raise Fault("figures.ndjson", "counting again gives another number", number, "value")
    events = {"shown": checks.shown, "withheld": checks.withheld, "signedUpTo": checks.signed_up_to, "bulk": checks.bulk}
    return {"ok": True, "key_id": key_id, "files": len(listed), "hosts": manifest["hosts"], "events": events}


def open_manifest(data, key_set):
    file = "manifest.json"
    envelope = strict_json(data, file)
    keys = {key["public_key_hex"]: key for key in key_set["keys"]}
    by = signers(envelope, keys, TYPE % "evidence")
    if not by:
        raise Fault(file, "is signed by no key of the fleet", None, "signatures")
    key = keys[min(by)]
    signature = envelope["signatures"][0]
    form = {"payload": envelope["payload"], "payloadType": envelope["payloadType"]}
    form["signatures"] = [{"keyid": signature["keyid"], "sig": signature["sig"]}]
    if signature["keyid"] != key["key_id"] or canonical(form).encode() != data:
        raise Fault(file, "is not written as a bundle writes it", None, "signatures")
    manifest = strict_json(decode(envelope["payload"]), file)
    if manifest["v"] != 1 or manifest["fleet_id"] != key_set["fleet_id"]:
        raise Fault(file, "is of another version or fleet", None, "fleet_id")
    if key["status"] == "revoked" and milliseconds(manifest["made_at"]) >= milliseconds(key["revoked_at"]):
        raise Fault(file, "its key was revoked before it signed", None, "made_at")
    return manifest, key["key_id"]


def changed(name, files):
    detail = "is not what the manifest names: its SHA-256 differs"
    data, digests = (name[6:], name) if name.startswith("lines/") else (name, "lines/" + name)
    has = [sha256(line)[:8].encode() + b"\n" for line in split_lines(files.get(data, b""))]
    wanted = split_lines(files.get(digests, b""))
    for i in range(max(len(has), len(wanted))):
        if has[i : i + 1] != wanted[i : i + 1]:
            return Fault(name, detail, i + 1)
    return Fault(name, detail)


def main(arguments):
    path, *pins = arguments
    try:
        with open(path, "rb") as file:
            result = verify(file.read(), {pin.lower() for pin in pins})
    except Fault as fault:
        result = {"ok": False, "fault": fault.place}
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
