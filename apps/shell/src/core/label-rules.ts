import { isValidLabel } from '@tidegate/capability';

const LABEL_MAX = 100;

/** R8: capability files match labels, so a label has no invisible or ambiguous characters. */
export function isLabel(text: string): boolean {
  return text.length <= LABEL_MAX && isValidLabel(text);
}

/** A path below the shell's own origin: never another host, and nothing that a browser could read as one. */
export function isLocalPath(text: string): boolean {
  return text.length <= 2_000 && /^\/(?![/\\])[^\\\s]*$/.test(text);
}
