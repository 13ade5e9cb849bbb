/** Where a bundle is not what was signed: a file, a line of it from 1, and a member of that line. */
export interface BundleFault {
  readonly file: string;
  readonly line: number | null;
  readonly field: string | null;
  readonly detail: string;
}

/** Ends a verification with its first fault. */
export class FaultyBundle extends Error {
  readonly fault: BundleFault;

  constructor(file: string, detail: string, at: { line?: number | null; field?: string | null } = {}) {
    super(detail);
    this.fault = { file, line: at.line ?? null, field: at.field ?? null, detail };
  }
}

/** A line of a file of the bundle, from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

/** A fault of a line, or of a member of it. */
export function faultAt({ file, line }: Place, detail: string, field: string | null): FaultyBundle {
  return new FaultyBundle(file, detail, { line, field });
}

/** `file, line 3, member x: what is wrong`. */
export function faultText({ file, line, field, detail }: BundleFault): string {
  const place = [
    file,
    ...(line === null ? [] : [`line ${line}`]),
    ...(field === null ? [] : [`member ${field}`]),
  ];
  return `${place.join(', ')}: ${detail}`;
}
