import { describe, expect, test } from 'vitest';
import { ATTACKS } from '../testing/attacks/all.ts';
import type { Attack } from '../testing/attacks/attack.ts';
import { runAttack } from '../testing/attacks/run-attack.ts';

describe.each(Object.entries(ATTACKS))('%s', (_, attacks) => {
  test.each(attacks.map((attack): [string, Attack] => [attack.name, attack]))('%s', async (_name, attack) => {
    expect(await runAttack(attack)).toEqual({
      agent: attack.agent,
      executor: attack.executor,
      installs: 0,
      staged: 0,
      trust: attack.learns === 'keys' ? 'changed' : 'unchanged',
      memory: attack.learns === 'accepted' || attack.learns === 'time' ? 'changed' : 'unchanged',
    });
  });
});

test('each row stands once, and the table is not cut short', () => {
  const names = Object.entries(ATTACKS).flatMap(([group, rows]) =>
    rows.map(({ name }) => `${group}: ${name}`),
  );
  expect(new Set(names).size).toBe(names.length);
  expect(names.length).toBeGreaterThan(120);
});
