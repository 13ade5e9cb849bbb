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
    [
      'OPERATOR_CHANGED',
      {
        change: 'changed',
        username: 'victor',
        role: { before: 'viewer', after: 'viewer' },
        disabled: { before: false, after: true },
      },
      'olga disabled victor.',
    ],
    [
      'OPERATOR_CHANGED',
      {
        ...{ change: 'changed', username: 'victor', role: { before: 'viewer', after: 'approver' } },
        ...{ groups: { before: null, after: ['web', 'db'] }, disabled: { before: true, after: false } },
        password_changed: true,
      },
      'olga enabled victor and changed the role of victor from viewer to approver and changed what victor can see from the whole fleet to web, db and gave victor a new password.',
    ],
    [
      'OPERATOR_CHANGED',
      { change: 'created', username: 'vera', role: 'viewer', groups: ['web'] },
      'olga added vera as viewer, for the hosts of web.',
    ],
    ['OPERATOR_CHANGED', { change: 'deleted', username: 'vera' }, 'olga deleted the operator vera.'],
    ['OPERATOR_CHANGED', { change: 'own_password', username: 'olga' }, 'olga changed their own password.'],
    [
      'OPERATOR_CHANGED',
      { change: 'changed', username: 'vera', role: 7, groups: 'x' },
      'olga changed the operator vera.',
    ],
    [
      'RATE_LIMITS_CHANGED',
      {
        classes: {
          login: {
            before: { requests: 10, window_seconds: 60, enabled: true },
            after: { requests: 1200, window_seconds: 60, enabled: true },
          },
          check_in: {
            before: { requests: 10, window_seconds: 60, enabled: true },
            after: { requests: 10, window_seconds: 60, enabled: false },
          },
        },
      },
      'olga changed the rate limits: login from 10 in 60 s to 1,200 in 60 s; check in from 10 in 60 s to off.',
    ],
    [
      'NOTIFICATION_CHANNEL_CHANGED',
      {
        ...{ change: 'changed', name: 'night', kind: 'smtp', is_enabled: false, address_changed: true },
        ...{ before: { name: 'night', is_enabled: true }, secret_changed: true },
      },
      'olga changed the channel “night” of notifications (smtp): is enabled from on to off (it sends to another address) (with a new secret).',
    ],
    [
      'NOTIFICATION_RULE_CHANGED',
      {
        ...{ change: 'changed', name: 'new', conditions: { groups: [] } },
        before: { name: 'old', conditions: { groups: ['web'] } },
      },
      'olga changed the rule “new” of notifications: name from old to new; conditions.',
    ],
    [
      'IDENTITY_PROVIDER_CHANGED',
      {
        change: 'changed',
        provider: 'corp',
        before: { enabled: true },
        after: { enabled: false },
        secret_changed: true,
      },
      'olga changed the identity provider corp: enabled from on to off (with a new secret).',
    ],
    [
      'vulnerability_policy_changed',
      { before: 'any', after: 'introduced' },
      'olga set the vulnerability policy from "any" to "introduced": what a host has already no longer stops an update.',
    ],
    [
      'reboot_limits_changed',
      { group: 'web', max_at_once: 3, before: { max_at_once: 1 } },
      'olga lets 3 host(s) of the group web reboot at once (before: 1).',
    ],
    ['SESSION_REVOKED', { username: 'vera', sessions: 1 }, 'olga ended a session of vera.'],
    ['SESSION_REVOKED', { username: 'vera', sessions: 3 }, 'olga ended 3 sessions of vera.'],
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
