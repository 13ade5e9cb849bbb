/** Longest integrity value accepted, in characters: a few digests with their names. */
const INTEGRITY_MAX_CHARS = 4_096;
const SHA512_BYTES = 64;
const SHA512 = /^sha512-([A-Za-z0-9+/]{86}==)(?:\?\S*)?$/;

/**
 * The SHA-512 of a subresource integrity text as lower-case hex; null when it has none, or two that differ, as
 * npm's choice is unknown.
 */
export function sha512Of(integrity: string): string | null {
  if (integrity.length > INTEGRITY_MAX_CHARS) return null;
  const found = new Set<string>();
  for (const part of integrity.trim().split(/\s+/)) {
    const base64 = SHA512.exec(part)?.[1];
    if (base64 === undefined) continue;
    const digest = Buffer.from(base64, 'base64');
    // Nonzero trailing bits would give one digest two spellings.
    if (digest.length !== SHA512_BYTES || digest.toString('base64') !== base64) return null;
    found.add(digest.toString('hex'));
  }
  const [only, ...others] = found;
  return only === undefined || others.length > 0 ? null : only;
}

export function integrityOf(sha512: string): string {
  return `sha512-${Buffer.from(sha512, 'hex').toString('base64')}`;
}
