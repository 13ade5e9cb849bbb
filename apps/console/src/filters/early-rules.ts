import type { FilterLanguage, FilterValues } from '@tidegate/protocol/filter-text';

/**
 * The text of a filter together with what was typed while its language was loading: the typed words come last, where
 * people type on, and replace the parts of the filter that they name.
 */
export function withTyped<F extends object>(
  { parse, format }: FilterLanguage<F>,
  filter: FilterValues,
  typed: string,
): string {
  const read = parse(typed);
  const named = new Set(read.ok ? Object.keys(read.filter) : []);
  const rest = format(Object.fromEntries(Object.entries(filter).filter(([name]) => !named.has(name))));
  return rest === '' ? typed : `${rest} ${typed}`;
}
