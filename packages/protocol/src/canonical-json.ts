/**
 * The RFC 8785 (JCS) form of a JSON value: members sorted by UTF-16 code units, no white space, numbers and strings
 * as ECMAScript writes them. Members that are `undefined` are left out, as `JSON.stringify` does. Throws `TypeError`
 * on what JSON cannot say (a number that is not finite, a function, an unpaired surrogate): no two readers agree on it.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'string') return stringText(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value === 'object') return objectText(value);
  throw new TypeError(`not a JSON value: ${typeof value}`);
}

function objectText(value: object): string {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  // The default comparison of strings is by UTF-16 code units, as RFC 8785 section 3.2.3 asks.
  members.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${stringText(key)}:${canonicalJson(member)}`).join(',')}}`;
}

function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new TypeError('not a JSON value: a number that is not finite');
  return JSON.stringify(value);
}

function stringText(value: string): string {
  if (!value.isWellFormed()) throw new TypeError('not a JSON value: an unpaired surrogate');
  return JSON.stringify(value);
}
