import { Type } from 'typebox';

/** Most rows that a list counts for its `total`; a bulk request names no more than that either. */
export const TOTAL_MAX = 10_000;

export type Directed<Field extends string> = Field | `-${Field}`;

/**
 * The `sort` of a list: a field, or the same behind `-` for the other direction. What is not known (null) stands last
 * in both directions, texts are in the order of their bytes, and rows that are alike in the order of their ids.
 */
export function sortBy<Field extends string>(fields: readonly Field[], description: string) {
  return Type.Enum<Directed<Field>[]>([...fields, ...fields.map((field) => `-${field}` as const)], {
    description,
  });
}

/** A sort taken apart. */
export function directionOf<Field extends string>(
  sort: Directed<Field>,
  fields: readonly Field[],
): { field: Field; descending: boolean } {
  const field = fields.find((one) => one === sort || `-${one}` === sort);
  if (field === undefined) throw new Error(`no list is sorted by ${sort}`);
  return { field, descending: sort.startsWith('-') };
}
