/** One thing that is wrong, or odd, in a file. */
export interface Finding {
  /** JSON Pointer (RFC 6901) to where it stands; the empty text is the whole file. */
  readonly path: string;
  /** What is wrong and what is allowed instead. */
  readonly message: string;
}

/** Maximum findings listed per file; one more states how many were left out. */
export const MAX_FINDINGS = 100;
/** Maximum characters of file text quoted in a message. */
const MAX_QUOTED = 120;

/** Collects all errors, so that a file can be fixed in one pass. */
export class Report {
  readonly #errors: Finding[] = [];
  readonly #warnings: Finding[] = [];
  #leftOut = 0;

  error(path: string, message: string): void {
    if (this.#errors.length < MAX_FINDINGS) this.#errors.push({ path, message });
    else this.#leftOut += 1;
  }

  warn(path: string, message: string): void {
    if (this.#warnings.length < MAX_FINDINGS) this.#warnings.push({ path, message });
  }

  get failed(): boolean {
    return this.#errors.length > 0;
  }

  /** Whether further errors are only counted. */
  get isFull(): boolean {
    return this.#errors.length >= MAX_FINDINGS;
  }

  get errors(): readonly Finding[] {
    if (this.#leftOut === 0) return this.#errors;
    return [...this.#errors, { path: '', message: `${this.#leftOut} more errors are not listed` }];
  }

  get warnings(): readonly Finding[] {
    return this.#warnings;
  }
}

/** The pointer to a member or an item of what `path` points to. */
export function pointTo(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}/${key}`;
  return `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** A text as a message may repeat it: quoted, without control characters, cut. */
export function quote(text: string): string {
  const cut = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;
  return escapeLines(JSON.stringify(cut.toWellFormed()));
}

// JSON leaves these as they are, but a terminal or a log may break a line at them or turn the text around.
function escapeLines(quoted: string): string {
  return quoted.replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
