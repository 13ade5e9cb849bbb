import { Type } from 'typebox';

/** Maximum rows counted for a list's `total`; also the maximum of a bulk request. */
export const TOTAL_MAX = 10_000;

export type Directed<Field extends string> = Field | `-${Field}`;

/**
 * The `sort` of a list: a field, or the same behind `-` for the other direction. Null sorts last in both
 * directions, text sorts by bytes, and equal rows sort by id.
 */
export function sortBy<Field extends string>(fields: readonly Field[], description: string) {
  return Type.Enum<Directed<Field>[]>([...fields, ...fields.map((field) => `-${field}` as const)], {
    description,
  });
}

/** A parsed sort. */
export function directionOf<Field extends string>(
  sort: Directed<Field>,
  fields: readonly Field[],
): { field: Field; descending: boolean } {
  const field = fields.find((one) => one === sort || `-${one}` === sort);
  if (field === undefined) throw new Error(`no list is sorted by ${sort}`);
  return { field, descending: sort.startsWith('-') };
}
