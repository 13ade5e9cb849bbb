import { describe, expect, test } from 'vitest';
import { EVENT_TYPES, narrativeOf } from './event-narratives.ts';
import { SECURITY_EVENT_TYPES, SYSTEM_EVENT_TYPES } from './event-types.ts';

describe('event narratives', () => {
  test('every type has a sentence, even without content', () => {
    expect(EVENT_TYPES).toEqual(expect.arrayContaining([...SECURITY_EVENT_TYPES, ...SYSTEM_EVENT_TYPES]));
    for (const type of EVENT_TYPES) {
      for (const content of [{}, null, 'text', 7, { package: null, classes: [] }]) {
        const told = narrativeOf({ type, actor: null, content });
        expect(told, type).toMatch(/^\S.*\.$/s);
        expect(told, type).not.toMatch(/undefined|null|NaN/);
      }
    }
  });

  test('an override names the package, the cause and the reason (A5)', () => {
    const content = {
      package: { ecosystem: 'apt', name: 'openssl', version: '3.0.2' },
      cause: { blocked_by: 'vulnerability', reason: 'vulnerable' },
      reason: 'fixes a worse one',
    };
    expect(narrativeOf({ type: 'supply_chain_override', actor: 'olga', content })).toBe(
      'olga overrode the gate for openssl 3.0.2 (vulnerability: vulnerable) (fixes a worse one). Signature and hashes are still verified.',
    );
  });

  test('an approval says whether its packages were checked', () => {
    const left = { ecosystem: 'npm', name: 'left', version: '1.0.0' };
    const content = { updates: [{ update_id: 'a', package: left }], update_count: 1, verdict: 'clear' };
    const told = (unchecked: string | null) =>
      narrativeOf({ type: 'update_approved', actor: 'olga', content: { ...content, unchecked } });
    expect(told(null)).toBe('olga approved left 1.0.0 (clear).');
    expect(told('unreachable')).toBe(
      'olga approved left 1.0.0 (clear). NOT FULLY CHECKED for known vulnerabilities: unreachable.',
    );
  });

  test.each([
    [1, 'olga approved openssl 3.0.2 (clear).'],
    [2, 'olga approved openssl 3.0.2 and 1 more update (clear).'],
    [1_200, 'olga approved openssl 3.0.2 and 1,199 more updates (clear).'],
  ])('an approval of %s updates names the first', (update_count, told) => {
    const updates = [{ update_id: 'a', package: { ecosystem: 'apt', name: 'openssl', version: '3.0.2' } }];
    const content = { updates, update_count, approved_by: 'olga', verdict: 'clear', override: false };
    expect(narrativeOf({ type: 'update_approved', actor: 'olga', content })).toBe(told);
  });

  test.each<[string, object, string]>([
    ['probes_red', { probes: ['web'], count: 1 }, 'Probes turned red: web (1 in all).'],
    [
      'probes_red',
      { probes: ['a', 'b', 'c', 'd'], count: 12 },
      'Probes turned red: a, b, c and 1 more (12 in all).',
    ],
    ['probes_red', { probes: [{}, 7, null] }, 'Probes turned red: unknown (some in all).'],
    [
      'hold_released',
      { packages: ['openssl', 'linux-*'] },
      'olga released the hold of openssl, linux-*. Their updates can be approved again.',
    ],
  ])('%s names what is in the list %j', (type, content, told) => {
    expect(narrativeOf({ type, actor: 'olga', content })).toBe(told);
  });

  test.each(['constructor', '__proto__', 'NEW_TYPE'])(
    'the unknown type %s is described by its name',
    (type) => {
      expect(narrativeOf({ type, actor: null, content: {} })).toBe(`${type}.`);
    },
  );
});
