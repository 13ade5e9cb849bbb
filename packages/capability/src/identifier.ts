/** 51 bytes of plugin, the colon, 64 bytes of permission. */
export const MAX_LENGTH = 116;
const CORE = 'core:';
/** The names of packages: a permission is named by the plugin, not by the package that holds it. */
const FORBIDDEN_STARTS = ['tauri-plugin-', 'host-plugin-'] as const;

/** A permission or set by its parts: `core:app` and `allow-version`; no plugin for commands of the application. */
export interface Identifier {
  readonly plugin: string | null;
  readonly base: string;
}

export function splitIdentifier(identifier: string): Identifier {
  const colon = identifier.lastIndexOf(':');
  if (colon < 0) return { plugin: null, base: identifier };
  return { plugin: identifier.slice(0, colon), base: identifier.slice(colon + 1) };
}

/** Letters and digits with hyphens between them, in parts with colons between those. */
export const IDENTIFIER_FORM = /^[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*(?::[A-Za-z0-9]+(?:-+[A-Za-z0-9]+)*)*$/;

/** What is wrong with the form of a permission identifier, or null. Whether it names anything is another question. */
export function identifierFault(identifier: string): string | null {
  if (identifier.length > MAX_LENGTH)
    return `a permission identifier has at most ${MAX_LENGTH} characters, this one has ${identifier.length}`;
  const start = FORBIDDEN_STARTS.find((forbidden) => identifier.startsWith(forbidden));
  if (start !== undefined)
    return `a permission identifier names the plugin without its "${start}": ${JSON.stringify(identifier.slice(start.length))}`;
  if (!IDENTIFIER_FORM.test(identifier)) return formFault(identifier);
  if (!identifier.startsWith(CORE) && identifier.indexOf(':') !== identifier.lastIndexOf(':'))
    return 'has more than one ":"; only identifiers that begin with "core:" have several';
  return null;
}

/** What is wrong with the name of a command, or null. */
export function commandFault(command: string): string | null {
  if (command.includes(':')) return 'a command has no ":"; it is named without its plugin';
  return identifierFault(command)?.replaceAll('permission identifier', 'command') ?? null;
}

function formFault(identifier: string): string {
  if (identifier === '') return 'a permission identifier is not empty';
  for (let i = 0; i < identifier.length; i++) {
    const fault = characterFault(identifier, i);
    if (fault !== null) return fault;
  }
  if (identifier.endsWith(':')) return 'a permission is missing after the last ":"';
  return 'a permission identifier does not end with "-"';
}

function characterFault(text: string, i: number): string | null {
  const c = text.charCodeAt(i);
  if (isAlphanumeric(c)) return null;
  const isStart = i === 0 || text[i - 1] === ':';
  if (text[i] === '-' && !isStart) return null;
  if (text[i] === ':' && !isStart && text[i - 1] !== '-') return null;
  if (text[i] === '_') return 'has "_"; write the words with "-" between them';
  if (text[i] === '-' || text[i] === ':') {
    return `has ${JSON.stringify(text[i])} where a letter or digit has to stand: ${JSON.stringify(text)}`;
  }
  return 'has a character that is not allowed; allowed are ASCII letters, digits, "-" and ":"';
}

function isAlphanumeric(c: number): boolean {
  return (c >= 0x30 && c <= 0x39) || (c >= 0x41 && c <= 0x5a) || (c >= 0x61 && c <= 0x7a);
}
