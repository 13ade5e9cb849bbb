const shared = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const standardAlphabet = sextetTable(`${shared}+/`);
const urlSafeAlphabet = sextetTable(`${shared}-_`);

/**
 * Decodes base64 in exactly one spelling per alphabet and padding, so that no two runtimes read one text differently
 * (DSSE v1 asks for both alphabets; RFC 4648 sections 3.2, 3.3, 3.5, 4, 5).
 * Takes the standard or the URL-safe alphabet, fully padded or not at all. Returns null for white space, for a mix of
 * the alphabets, for incomplete padding and for trailing bits that are not zero. Never throws.
 */
export function decodeBase64(text: string): Uint8Array | null {
  const digits = withoutPadding(text);
  if (digits === null || digits.length % 4 === 1) return null;
  const sextets = /[-_]/.test(digits) ? urlSafeAlphabet : standardAlphabet;
  const bytes = new Uint8Array(Math.floor((digits.length * 3) / 4));
  let pending = 0;
  let pendingBits = 0;
  let written = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const sextet = sextets[digits.charCodeAt(at)] ?? notADigit;
    if (sextet === notADigit) return null;
    pending = (pending << 6) | sextet;
    pendingBits += 6;
    if (pendingBits < 8) continue;
    pendingBits -= 8;
    bytes[written] = pending >> pendingBits;
    written += 1;
    pending &= (1 << pendingBits) - 1;
  }
  return pending === 0 ? bytes : null;
}

/** The number of base64 characters, padding included, that no text for so many bytes exceeds. */
export function base64Length(byteLength: number): number {
  return Math.ceil(byteLength / 3) * 4;
}

function withoutPadding(text: string): string | null {
  if (!text.endsWith('=')) return text;
  if (text.length % 4 !== 0) return null;
  return text.endsWith('==') ? text.slice(0, -2) : text.slice(0, -1);
}

const notADigit = 255;

function sextetTable(alphabet: string): Uint8Array {
  const table = new Uint8Array(128).fill(255);
  for (let value = 0; value < alphabet.length; value += 1) table[alphabet.charCodeAt(value)] = value;
  return table;
}
