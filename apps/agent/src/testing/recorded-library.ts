import type { NativeSignatures, openNativeLibrary } from '../platform/native-library.ts';

type Answer = (...values: unknown[]) => unknown;

export interface RecordedLibrary {
  open: typeof openNativeLibrary;
  /** What was asked for, in order; bytes as the UTF-16 text that they are. */
  calls: unknown[][];
  opened: { candidates: readonly string[]; signatures: NativeSignatures }[];
}

/** A native library of another system that answers as it was seen to. Null: there is no such library. */
export function recordedLibrary(answers: Readonly<Record<string, Answer>> | null): RecordedLibrary {
  const calls: unknown[][] = [];
  const opened: RecordedLibrary['opened'] = [];
  const open: typeof openNativeLibrary = async (candidates, signatures) => {
    opened.push({ candidates, signatures });
    if (answers === null) return { ok: false, detail: `${candidates.join('; ')}: not found` };
    return {
      ok: true,
      call: (name, ...values) => {
        if (values.length !== signatures[name]?.args.length) throw new TypeError(`${name} takes others`);
        calls.push([
          name,
          ...values.map((value) => (Buffer.isBuffer(value) ? value.toString('utf16le') : value)),
        ]);
        return answers[name]?.(...values);
      },
    };
  };
  return { open, calls, opened };
}
