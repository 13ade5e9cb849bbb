/** The changes that turn any filter of these parts into this one: parts that it does not name are removed. */
export function changesTo<F extends string>(
  names: readonly F[],
  filter: Readonly<Record<string, unknown>>,
): Readonly<Partial<Record<F, string | undefined>>> {
  const changes: Partial<Record<F, string | undefined>> = {};
  for (const name of names) {
    const value = filter[name];
    changes[name] = value === undefined ? undefined : String(value);
  }
  return changes;
}
