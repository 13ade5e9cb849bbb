import { shownText } from '../platform/shown-text.ts';
import { wordsOfBus } from './bus-words.ts';

/** Longest name that is shown, in characters. */
const NAME_MAX_CHARS = 200;

export interface LoginSession {
  /** On the bus. */
  path: string;
  user: string;
}

export interface Inhibitor {
  who: string;
  why: string;
}

/** The answer of `ListSessions`, `a(susso)`; null when it is none. */
export function parseSessions(text: string): LoginSession[] | null {
  const rows = rowsOf(text, { type: 'a(susso)', width: 5 });
  return (
    rows?.map(([, , user = '', , path = '']) => ({ path, user: shownText(user, NAME_MAX_CHARS) })) ?? null
  );
}

/** The answer of `ListInhibitors`, `a(ssssuu)`: those that block a shutdown; null when it is none. */
export function parseInhibitors(text: string): Inhibitor[] | null {
  const rows = rowsOf(text, { type: 'a(ssssuu)', width: 6 });
  const blocking = rows?.filter(
    ([what = '', , , mode = '']) => what.split(':').includes('shutdown') && mode.startsWith('block'),
  );
  return (
    blocking?.map(([, who = '', why = '']) => ({
      who: shownText(who, NAME_MAX_CHARS),
      why: shownText(why, NAME_MAX_CHARS),
    })) ?? null
  );
}

/**
 * What a session is, from its properties `Class` and `State`: `person` for a login of a user, `other` for display
 * managers, lock screens, background jobs and what is ending. Null when the answer is none.
 */
export function parseSession(text: string): 'person' | 'other' | null {
  const [type, kind, secondType, state, ...rest] = wordsOfBus(text) ?? [];
  if (type !== 's' || secondType !== 's' || kind === undefined || state === undefined || rest.length > 0) {
    return null;
  }
  return /^user(-|$)/.test(kind) && state !== 'closing' ? 'person' : 'other';
}

/** The users of who(1), which also knows logins that logind was not told of. */
export function parseWho(text: string): string[] {
  const names = text.split('\n').map((line) => line.split(/\s/)[0] ?? '');
  return [...new Set(names.filter((name) => name !== ''))].map((name) => shownText(name, NAME_MAX_CHARS));
}

function rowsOf(text: string, { type, width }: { type: string; width: number }): string[][] | null {
  const [named, count, ...words] = wordsOfBus(text) ?? [];
  const rows = Number(count);
  if (named !== type || !Number.isInteger(rows) || words.length !== rows * width) return null;
  return Array.from({ length: rows }, (_, row) => words.slice(row * width, (row + 1) * width));
}
