import { SETTINGS } from './config.ts';
import type { Log } from './platform/log.ts';

const KNOWN: readonly string[] = Object.values(SETTINGS).map(({ env }) => env);
const PREFIX = 'SERVICE_';
const FILE_SUFFIX = '_FILE';
/** Maximum edit distance at which a name counts as a misspelling of a known one. */
const NEAR_MAX_EDITS = 3;
/** Longer names are not compared, which bounds the work. */
const NAME_MAX_CHARS = 64;

export interface UnknownSetting {
  readonly name: string;
  /** The known setting that it is probably meant to be. */
  readonly nearest: string | null;
}

/**
 * The SERVICE_ names in the environment that no setting reads, sorted. Values are ignored, except that empty counts as
 * absent.
 */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): UnknownSetting[] {
  const read = new Set(KNOWN.flatMap((name) => [name, name + FILE_SUFFIX]));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !read.has(name) && env[name])
    .toSorted()
    .map((name) => {
      const base = name.endsWith(FILE_SUFFIX) ? name.slice(0, -FILE_SUFFIX.length) : name;
      return { name, nearest: nearestOf(base.toUpperCase()) };
    });
}

/** Logs one line per name: a misspelt setting must not be ignored silently. */
export function warnOfUnknown(log: Log, found: readonly UnknownSetting[]): void {
  for (const { name, nearest } of found) {
    log.warn('unknown setting ignored', { name, nearest: nearest ?? undefined });
  }
}

function nearestOf(name: string): string | null {
  if (name.length > NAME_MAX_CHARS) return null;
  let nearest: string | null = null;
  let fewest = NEAR_MAX_EDITS + 1;
  for (const known of KNOWN) {
    const edits = editsBetween(name, known);
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = known;
  }
  return nearest;
}

/** Levenshtein distance: characters to insert, delete or replace. */
function editsBetween(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, j) => j);
  for (const [i, given] of [...from].entries()) {
    const row = [i + 1];
    for (const [j, wanted] of [...to].entries()) {
      const replaced = (above[j] ?? 0) + (given === wanted ? 0 : 1);
      row.push(Math.min(replaced, (above[j + 1] ?? 0) + 1, (row[j] ?? 0) + 1));
    }
    above = row;
  }
  return above.at(-1) ?? 0;
}
