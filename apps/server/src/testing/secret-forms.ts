/** Shortest run of base64 letters that is searched: shorter ones occur by chance. */
const LETTERS_MIN = 16;

/**
 * The encodings of a secret in stored bytes: plain, hex, and inside base64 of either alphabet at each of the
 * three alignments. For a token also the bytes that its text encodes.
 */
export function formsOf(secret: string): Buffer[] {
  const raw = Buffer.from(secret);
  const decoded = /^[\w-]{22,}$/.test(secret) ? Buffer.from(secret, 'base64url') : null;
  const seed = /^[0-9a-f]{64,}$/.test(secret) ? Buffer.from(secret, 'hex') : null;
  const sources = [raw, decoded, seed].filter((source) => source !== null);
  return sources.flatMap((source) => [source, ...encoded(source)]);
}

function encoded(source: Buffer): Buffer[] {
  const hex = source.toString('hex');
  const texts = [hex, hex.toUpperCase()];
  for (const alphabet of ['base64', 'base64url'] as const) {
    for (const before of [0, 1, 2]) {
      const text = Buffer.concat([Buffer.alloc(before), source])
        .toString(alphabet)
        .replace(/=+$/, '');
      // The first letters contain bits of the preceding bytes, the last ones of the following bytes.
      const sure = text.slice(before === 0 ? 0 : before + 1, -1);
      if (sure.length >= LETTERS_MIN) texts.push(sure);
    }
  }
  return texts.map((text) => Buffer.from(text));
}

/** The names of the secrets that the bytes contain, in any encoding. */
export function secretsIn(bytes: Buffer, secrets: ReadonlyMap<string, string>): string[] {
  return [...secrets].flatMap(([what, secret]) =>
    formsOf(secret).some((form) => bytes.includes(form)) ? [what] : [],
  );
}
