import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { capabilitySchema, parseCapabilityFile } from './capability.ts';

const validate = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false }).compile(
  capabilitySchema(),
);
const rows: readonly { title: string; source: string; errors?: readonly string[] }[] = JSON.parse(
  readFileSync(new URL('../../../vectors/capability/files.json', import.meta.url), 'utf8'),
);
const asJson = rows.flatMap(({ title, source, errors }) => {
  const value = jsonOrNothing(source);
  return value === undefined ? [] : [{ title, value, isAccepted: errors === undefined }];
});
/** What a schema cannot say: these are errors of the reader alone. */
const BEYOND =
  /pattern|identifier|given twice|both forms|surrogate|too long|exactly|float|another error|__proto__/;

describe('R8: the JSON Schema for editors', () => {
  test.each(asJson.filter(({ isAccepted }) => isAccepted))(
    'takes what the reader takes: $title',
    ({ value }) => {
      expect(validate(value) || validate.errors).toBe(true);
    },
  );

  const refused = asJson.filter(({ isAccepted, title }) => !isAccepted && !BEYOND.test(title));
  test.each(refused)('refuses what the reader refuses: $title', ({ value }) => {
    expect(validate(value)).toBe(false);
  });

  test('the reader refuses every value that it refuses', () => {
    const part = fc.oneof(
      fc.constantFrom('linux', 'a:b', 'main', null, true, 1, [], {}, ['a:b'], [null]),
      fc.jsonValue(),
    );
    const keys = [
      'identifier',
      'description',
      'remote',
      'local',
      'windows',
      'webviews',
      'permissions',
      'platforms',
    ];
    const one = fc.dictionary(fc.constantFrom(...keys, 'urls', 'x'), part, { maxKeys: 4 });
    const good = one.map((some) => ({ identifier: 'c', permissions: ['a:b'], ...some }));
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(fc.oneof(one, good, fc.array(good, { maxLength: 2 }), fc.jsonValue()), (value) => {
        const isTaken = validate(value);
        seen[isTaken ? 'taken' : 'refused'] += 1;
        if (!isTaken) expect(parseCapabilityFile(value)).toHaveProperty('errors');
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(100);
  });

  test('every field has a description for authors', () => {
    const { $defs } = JSON.parse(JSON.stringify(capabilitySchema()));
    for (const { description } of Object.values<{ description?: string }>($defs.Capability.properties))
      expect(description).toMatch(/\w{3,}/);
  });
});

function jsonOrNothing(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return undefined;
  }
}
