#!/bin/sh
# Adds the second signature that a host's policy may require to an approval of the server.
# Usage: countersign.sh KEY.pem KEY_ID < envelope.json      prints {"keyid": …, "sig": …}
# Needs openssl 3 and coreutils. It checks nothing: read what you sign first (the payload is base64 of JSON).
set -eu
key=$1
key_id=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
type=application/vnd.tidegate.approval.v1+json

cat >"$work/envelope"
grep -qF "\"$type\"" "$work/envelope" || { echo "this is not an approval" >&2; exit 1; }
sed -n 's/.*"payload" *: *"\([A-Za-z0-9+/=]*\)".*/\1/p' "$work/envelope" | base64 -d >"$work/payload"
[ -s "$work/payload" ] || { echo "the envelope has no payload" >&2; exit 1; }

# DSSE: the type and the bytes, each after its length.
printf 'DSSEv1 %d %s %d ' "${#type}" "$type" "$(wc -c <"$work/payload")" >"$work/signed"
cat "$work/payload" >>"$work/signed"
openssl pkeyutl -sign -inkey "$key" -rawin -in "$work/signed" -out "$work/sig"
printf '{"keyid":"%s","sig":"%s"}\n' "$key_id" "$(base64 -w0 "$work/sig")"
