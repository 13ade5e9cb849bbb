import { readJson, type ValueSeen } from './json.ts';
import { type Format, type Position, positionOf } from './source.ts';
import { seeToml } from './toml-places.ts';

/**
 * Finds where the values stand that pointers point to, in a text that could be read. A value that is not there, as a
 * field that is missing, is answered with the nearest one around it.
 */
export function locate(
  text: string,
  format: Format,
  pointers: readonly string[],
): ReadonlyMap<string, Position> {
  const wanted = new Set(pointers.flatMap(around));
  const offsets = new Map<string, number>();
  const seen: ValueSeen = (path, offset) => {
    // Of a key that is given twice the first place stays.
    if (wanted.has(path) && !offsets.has(path)) offsets.set(path, offset);
  };
  if (format === 'JSON') readJson(text, seen);
  else seeToml(text, seen);
  return new Map(
    pointers.map((pointer) => {
      const nearest = around(pointer).find((path) => offsets.has(path)) ?? '';
      return [pointer, positionOf(text, offsets.get(nearest) ?? 0)];
    }),
  );
}

/** Whether a text has a value at exactly this pointer. */
export function has(text: string, format: Format, pointer: string): boolean {
  let isThere = false;
  const seen: ValueSeen = (path) => {
    isThere ||= path === pointer;
  };
  if (format === 'JSON') readJson(text, seen);
  else seeToml(text, seen);
  return isThere;
}

/** The pointer and those of everything around it, from the inside out. */
function around(pointer: string): string[] {
  const paths = [pointer];
  for (let end = pointer.lastIndexOf('/'); end >= 0; end = pointer.lastIndexOf('/', end - 1)) {
    paths.push(pointer.slice(0, end));
    if (end === 0) break;
  }
  return paths;
}
