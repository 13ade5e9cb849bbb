/** Shortest run of base64 letters that is looked for: shorter ones turn up by chance. */
const LETTERS_MIN = 16;

/**
 * What a secret looks like where it was written down: as it is, as hex, and inside of base64 of either alphabet at
 * each of the three places where it can begin. Of a token also the bytes that its text stands for.
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
      // The first letters hold bits of what stands before, the last ones of what stands behind.
      const sure = text.slice(before === 0 ? 0 : before + 1, -1);
      if (sure.length >= LETTERS_MIN) texts.push(sure);
    }
  }
  return texts.map((text) => Buffer.from(text));
}

/** Which of the secrets are in the bytes, in any form, by what they are. */
export function secretsIn(bytes: Buffer, secrets: ReadonlyMap<string, string>): string[] {
  return [...secrets].flatMap(([what, secret]) =>
    formsOf(secret).some((form) => bytes.includes(form)) ? [what] : [],
  );
}
