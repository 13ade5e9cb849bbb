/** No envelope carries more: an approval, the largest document, is at most 4 MiB on the wire. */
export const maximumPayloadBytes = 4 * 1024 * 1024;

/**
 * The bytes that a signature covers: `"DSSEv1" SP len(type) SP type SP len(body) SP body`, lengths in bytes
 * (DSSE protocol 1.0.2). The type is under the signature, so a document cannot be passed off as one of another meaning.
 */
export function preAuthenticationEncoding(payloadType: string, body: Uint8Array): Uint8Array {
  const typeBytes = new TextEncoder().encode(payloadType).length;
  const before = new TextEncoder().encode(`DSSEv1 ${typeBytes} ${payloadType} ${body.length} `);
  const encoded = new Uint8Array(before.length + body.length);
  encoded.set(before);
  encoded.set(body, before.length);
  return encoded;
}

/** The longest digest that OpenPGP signs in place of a file (SHA-512). */
const DIGEST_MAX_BYTES = 64;

/** Whether a signature of these bytes could be taken for one of an envelope, as above, or of OpenPGP by the same key. */
export function isSignedOtherwise(bytes: Uint8Array): boolean {
  const isEncoded = Buffer.from(bytes.subarray(0, 6)).equals(Buffer.from('DSSEv1'));
  return isEncoded || bytes.length <= DIGEST_MAX_BYTES;
}
