/** Strips terminal control from a byte stream; chunks may be cut anywhere. */
export interface PlainText {
  add(bytes: Uint8Array): string;
  /** The rest of a truncated character. */
  end(): string;
}

type State = 'text' | 'escape' | 'sequence' | 'string';

/** Other control characters and bidirectional overrides must not reach a reader. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const DIRECTION = /[\u202a-\u202e\u2066-\u2069]/;
/** Begins of a string to the terminal (ECMA-48: DCS, SOS, OSC, PM, APC), by one character. */
const STRING_BEGIN = /[\x90\x98\x9d\x9e\x9f]/;

/**
 * Turns what a package manager writes into text that can be stored and shown anywhere: invalid UTF-8 becomes
 * U+FFFD, escape sequences (ECMA-48) and control characters but tab, line feed and carriage return are dropped.
 * An unfinished sequence ends with its line, so that it cannot hide later text. The chunking of the bytes does
 * not matter.
 */
export function createPlainText(): PlainText {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let state: State = 'text';
  const clean = (text: string) => {
    let shown = '';
    for (const char of text) {
      const next = after(state, char);
      state = next ?? begin(char);
      if (next === null && state === 'text') shown += visible(char);
    }
    return shown;
  };
  return {
    add: (bytes) => clean(decoder.decode(bytes, { stream: true })),
    end: () => clean(decoder.decode()),
  };
}

/** The start of an untrusted text, safe for documents: plain, and cut between characters. */
export function plainStart(text: string, maxChars: number): string {
  return plain(text).slice(0, maxChars).toWellFormed();
}

/** The same for its end. */
export function plainEnd(text: string, maxChars: number): string {
  return plain(text).slice(-maxChars).toWellFormed();
}

function plain(text: string): string {
  const cleaner = createPlainText();
  return cleaner.add(Buffer.from(text)) + cleaner.end();
}

/** Where a character of a sequence leads; null when it is none, and is to be read as text. */
function after(state: State, char: string): State | null {
  switch (state) {
    case 'text':
      return null;
    case 'escape':
      if (char === '[') return 'sequence';
      if (/[\]PX^_]/.test(char)) return 'string';
      if (/[ -/]/.test(char)) return 'escape';
      return /[0-~]/.test(char) ? 'text' : null;
    case 'sequence':
      if (/[ -?]/.test(char)) return 'sequence';
      return /[@-~]/.test(char) ? 'text' : null;
    case 'string':
      if (char === '\n' || char === '\x1b') return null;
      return char === '\x07' || char === '\x9c' ? 'text' : 'string';
  }
}

function begin(char: string): State {
  if (char === '\x1b') return 'escape';
  if (char === '\x9b') return 'sequence';
  return STRING_BEGIN.test(char) ? 'string' : 'text';
}

function visible(char: string): string {
  if (CONTROL.test(char)) return '';
  return DIRECTION.test(char) ? '\ufffd' : char;
}
