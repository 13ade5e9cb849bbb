import { PROBLEM_STATUS } from '@tidegate/protocol/problems';
import { limitsOf, namesOf, rowsOf, typeOf } from './schema-rows.ts';
import { OBJECTS, SCALARS } from './schemas.ts';

export const NAMES = namesOf({ ...SCALARS, ...OBJECTS });

/** What each held table of docs/protocol says in its first columns. */
export const HELD: Readonly<Record<string, readonly (readonly string[])[]>> = {
  ...Object.fromEntries(Object.entries(OBJECTS).map(([name, schema]) => [name, rowsOf(schema, NAMES)])),
  types: Object.entries(SCALARS).map(([name, schema]) => [
    name,
    typeOf(schema, new Map()),
    limitsOf(schema, new Map()),
  ]),
  errors: Object.entries(PROBLEM_STATUS).map(([code, status]) => [code, String(status)]),
};
