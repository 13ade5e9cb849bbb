/** The result of one check. `detail` of a fault or a doubt says what to do about it. */
export interface Finding {
  check: string;
  ok: boolean;
  /** A warning: it works but deserves attention. */
  isDoubtful?: true;
  detail: string;
}

export function sound(check: string, detail: string): Finding {
  return { check, ok: true, detail };
}

export function doubtful(check: string, detail: string): Finding {
  return { check, ok: true, isDoubtful: true, detail };
}

export function faulty(check: string, detail: string): Finding {
  return { check, ok: false, detail };
}

/** One line for a person. */
export function lineOf({ check, ok, isDoubtful, detail }: Finding): string {
  const mark = ok ? (isDoubtful ? 'warn' : 'ok  ') : 'FAIL';
  return `${mark} ${check}: ${detail}`;
}
