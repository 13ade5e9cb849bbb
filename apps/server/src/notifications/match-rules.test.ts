import type { RuleConditions } from '@tidegate/protocol/notifications-api';
import { describe, expect, test } from 'vitest';
import { type Exploitation, isMeant, type KnownEvent } from './match-rules.ts';

const ANY: RuleConditions = {
  ...{ event_types: [], minimum_severity: 'info', groups: [], ecosystems: [], exploited_only: false },
};
const EVENT: KnownEvent = {
  ...{ id: 'e', position: 1, type: 'update_failed', severity: 'error', atMs: 0, actor: 'agent' },
  host: { id: 'h', name: 'web-1', group: 'web' },
  content: { updates: [{ update_id: 'u', package: { ecosystem: 'apt', name: 'curl', version: '8' } }] },
};
const FLEET: KnownEvent = { ...EVENT, host: null, content: {} };
const WAITS: KnownEvent = {
  ...FLEET,
  type: 'exploited_fix_waits',
  content: { package: { ecosystem: 'npm' }, groups: ['db'] },
};
const FIX: KnownEvent = { ...FLEET, type: 'fix_appeared', content: { vulnerability: 'CVE-1' } };
const NOTHING: Exploitation = { cves: new Set(), updates: new Set() };

describe('a rule means an event', () => {
  test.each<[string, KnownEvent, Partial<RuleConditions>, boolean]>([
    ['any', EVENT, {}, true],
    ['its type', EVENT, { event_types: ['update_failed', 'agent_offline'] }, true],
    ['another type', EVENT, { event_types: ['agent_offline'] }, false],
    ['its severity', EVENT, { minimum_severity: 'error' }, true],
    ['a higher severity', EVENT, { minimum_severity: 'critical' }, false],
    ['its group', EVENT, { groups: ['db', 'web'] }, true],
    ['another group', EVENT, { groups: ['db'] }, false],
    [
      'a group, of a host without one',
      { ...EVENT, host: { id: 'h', name: 'x', group: null } },
      { groups: ['web'] },
      false,
    ],
    ['a group, about no host', FLEET, { groups: ['web'] }, false],
    ['a group in which a fix waits', WAITS, { groups: ['db'] }, true],
    ['a group in which it does not', WAITS, { groups: ['web'] }, false],
    ['its ecosystem', EVENT, { ecosystems: ['apt'] }, true],
    ['that of its package', WAITS, { ecosystems: ['npm'] }, true],
    ['another ecosystem', EVENT, { ecosystems: ['npm'] }, false],
    ['an ecosystem, about none', FLEET, { ecosystems: ['apt'] }, false],
    ['exploited, about none', EVENT, { exploited_only: true }, false],
    ['exploited, of a fix that waits', WAITS, { exploited_only: true }, true],
  ])('%s', (_, event, conditions, expected) => {
    expect(isMeant(event, { conditions: { ...ANY, ...conditions }, exploited: NOTHING })).toBe(expected);
  });

  test('that names an exploited vulnerability, or an update with one', () => {
    const conditions = { ...ANY, exploited_only: true };
    const meant = (event: KnownEvent, exploited: Partial<Exploitation>) =>
      isMeant(event, { conditions, exploited: { ...NOTHING, ...exploited } });
    expect(meant(FIX, { cves: new Set(['CVE-1']) })).toBe(true);
    expect(meant(FIX, { cves: new Set(['CVE-2']) })).toBe(false);
    expect(meant(EVENT, { updates: new Set(['u']) })).toBe(true);
    expect(meant(EVENT, { updates: new Set(['v']) })).toBe(false);
  });

  test('whatever its content is', () => {
    for (const content of [
      null,
      'text',
      7,
      [],
      { updates: 'x', package: [], groups: {} },
      { updates: [null] },
    ]) {
      const asked = { conditions: { ...ANY, ecosystems: ['apt' as const] }, exploited: NOTHING };
      expect(isMeant({ ...EVENT, content }, asked)).toBe(false);
    }
  });
});
