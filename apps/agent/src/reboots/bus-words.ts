const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13 };
const BACKSLASH = 0x5c;
const QUOTE = 0x22;
const SPACES = [0x20, 0x0a];

/**
 * The words of what busctl(1) prints, also before it knew JSON: bare, or in quotes with the escapes of C. Null where a
 * quote has no end.
 */
export function wordsOfBus(text: string): string[] | null {
  const bytes = Buffer.from(text);
  const words: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (SPACES.includes(bytes[at] ?? 0)) {
      at += 1;
      continue;
    }
    const read = bytes[at] === QUOTE ? quotedFrom(bytes, at + 1) : bareFrom(bytes, at);
    if (read === null) return null;
    words.push(read.word);
    at = read.end;
  }
  return words;
}

function bareFrom(bytes: Buffer, from: number): { word: string; end: number } {
  let end = from;
  while (end < bytes.length && !SPACES.includes(bytes[end] ?? 0)) end += 1;
  return { word: bytes.toString('utf8', from, end), end };
}

/** Octal escapes are bytes of UTF-8. */
function quotedFrom(bytes: Buffer, from: number): { word: string; end: number } | null {
  const content: number[] = [];
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) return { word: Buffer.from(content).toString('utf8'), end: at + 1 };
    if (byte !== BACKSLASH) {
      content.push(byte);
      continue;
    }
    const octal = /^[0-3][0-7]{2}/.exec(bytes.toString('latin1', at + 1, at + 4))?.[0];
    const letter = bytes.toString('latin1', at + 1, at + 2);
    content.push(octal === undefined ? (ESCAPES[letter] ?? letter.charCodeAt(0)) : Number.parseInt(octal, 8));
    at += octal?.length ?? 1;
  }
  return null;
}
