import { describe, expect, test } from 'vitest';
import { EVENT_TYPES, narrativeOf } from './event-narratives.ts';
import { SECURITY_EVENT_TYPES, SYSTEM_EVENT_TYPES } from './event-types.ts';

/** As somebody may call a host or an operator: letters and an override that turn what follows. */
const NAME = 'שלום\u202e';

/** Members of events that name things, and numbers and times: no codes of the server. */
const NAMES: ReadonlySet<string> = new Set([
  ...['name', 'username', 'hostname', 'label', 'client', 'group', 'host_group', 'token_group', 'provider'],
  ...[
    'policy',
    'ring_name',
    'author',
    'approved_by',
    'removed_by',
    'subject',
    'follower',
    'filter',
    'probes',
  ],
  ...['package', 'packages', 'version', 'vulnerability', 'vulnerabilities', 'suites', 'hook', 'ecosystem'],
  ...['address', 'machine_id', 'recorded_machine_id', 'reported_machine_id', 'row'],
  ...['ends_at', 'expires_at', 'opens_at', 'closes_at', 'last_seen_at', 'as_of'],
  ...['count', 'rows', 'rows_a_day', 'bytes_a_day', 'records', 'records_before', 'seats', 'seats_used'],
  ...['threshold', 'epoch', 'previous_epoch', 'events_lost', 'from_position', 'to_position', 'missed'],
  ...['continues_after', 'retention_days', 'leaves'],
]);
/** What a person gave as a reason, and names of groups before and after. */
const WRITTEN: ReadonlySet<string> = new Set([
  ...[
    ...[
      'AGENT_REVOKED',
      'ARTIFACT_DIVERGENCE_DECIDED',
      'ARTIFACT_DIVERGENCE_UNDONE',
      'ARTIFACT_HOST_TRUSTED',
    ],
    ...['CLONE_DISMISSED', 'MACHINE_REBOUND', 'ROWS_SEALED', 'age_exception_added', 'blackout_created'],
    ...['blackout_ended', 'hold_placed', 'origin_registered', 'reboot_slot_released', 'reboots_asked'],
    ...['rollback_requested', 'rollout_cancelled', 'rollout_expedited', 'rollout_resumed'],
    ...['supply_chain_override'],
  ].map((type) => `${type} reason`),
  ...['policy_published text', 'vex_statement_added text', 'client_error message'],
  ...['HOST_GROUP_CHANGED before', 'HOST_GROUP_CHANGED after'],
]);

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
      'olga overrode the gate for openssl 3.0.2: a package has a known vulnerability (fixes a worse one). Signature and hashes are still verified.',
    );
  });

  test.each([
    ['sweep', 'known_vulnerability', 'by the server: a package has a known vulnerability'],
    ['policy/p@1', 'artifact_divergence', 'by a policy: a file differs from what other hosts reported'],
    ['olga', 'a_newer_code', 'by olga: a newer code'],
    [null, '', 'by somebody: the packages could not be checked'],
  ])('what the gate stops for %s is told without codes (%s)', (actor, reason, end) => {
    const content = {
      package: { name: 'curl', version: '2' },
      blocked_by: reason === '' ? 'unchecked' : 'x',
      reason,
    };
    expect(narrativeOf({ type: 'approval_blocked', actor, content })).toBe(
      `The gate stopped the approval of curl 2 ${end}.`,
    );
  });

  test('no sentence shows a code, only what people, hosts and advisories call things, numbers and times', () => {
    const shown = EVENT_TYPES.flatMap((type) =>
      pathsOf(type)
        .filter((path) => !NAMES.has(path.split('.').at(-1) ?? '') && !WRITTEN.has(`${type} ${path}`))
        .filter((path) => {
          const content = contentAt(path, 'an_inner_code');
          return narrativeOf({ type, actor: null, content }).includes('an_inner_code');
        })
        .map((path) => `${type} ${path}`),
    );
    expect(shown).toEqual([]);
  });

  test.each([
    ['reboot', 'expired', 'The reboot was not done in time.'],
    ['services', 'failed', 'The restart of services failed.'],
    ['reboot', 'constructor', 'The reboot has ended.'],
  ])('a %s that ends as %s is told in words', (kind, state, told) => {
    const content = { kind, state, detail: state };
    expect(narrativeOf({ type: 'reboot_ended', actor: null, content })).toBe(told);
  });

  test('an approval says whether its packages were checked', () => {
    const left = { ecosystem: 'npm', name: 'left', version: '1.0.0' };
    const content = { updates: [{ update_id: 'a', package: left }], update_count: 1, verdict: 'clear' };
    const told = (unchecked: string | null) =>
      narrativeOf({ type: 'update_approved', actor: 'olga', content: { ...content, unchecked } });
    expect(told(null)).toBe('olga approved left 1.0.0 (clear).');
    expect(told('unreachable')).toBe(
      'olga approved left 1.0.0 (clear). NOT FULLY CHECKED for known vulnerabilities: the source of known vulnerabilities did not answer.',
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
      'olga changed the rate limits: login from 10 requests in 60 s to 1,200 requests in 60 s; check in from 10 requests in 60 s to off.',
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
      'olga changed the limits of reboots of the group web: max at once from 1 to 3.',
    ],
    [
      'HOST_GROUP_CHANGED',
      { before: 'web', after: 'db' },
      'olga moved the host from the group web to the group db.',
    ],
    [
      'HOST_GROUP_CHANGED',
      { before: null, after: 'db' },
      'olga moved the host from no group to the group db.',
    ],
    [
      'HOST_TAGS_CHANGED',
      { before: ['env=lab', 'a'], after: ['a', 'env=live', 'b'] },
      'olga changed the tags of the host: added env=live, b; removed env=lab.',
    ],
    ['HOST_TAGS_CHANGED', { before: ['a'], after: [] }, 'olga changed the tags of the host: removed a.'],
    [
      'reboot_limits_changed',
      {
        ...{ group: 'web', max_at_once: 2, min_healthy: 80, halt_after: 1 },
        before: { max_at_once: 1, min_healthy: 50, halt_after: 1 },
      },
      'olga changed the limits of reboots of the group web: max at once from 1 to 2; min healthy from 50 to 80.',
    ],
    ['SESSION_REVOKED', { username: 'vera', sessions: 1 }, 'olga ended a session of vera.'],
    ['SESSION_REVOKED', { username: 'vera', sessions: 3 }, 'olga ended 3 sessions of vera.'],
    ['SESSION_REVOKED', { username: 'olga', sessions: 1 }, 'olga ended a session of their own.'],
    [
      'bulk_approval_asked',
      { update_count: 1, filter: 'name:curl' },
      'olga asked to approve 1 update at once, by the filter name:curl. Each has its own event when it is approved.',
    ],
    [
      'update_failed',
      { updates: [{ package: { name: 'curl', version: '2' } }], reason: 'fetch_failed: no mirror' },
      'Not installed: curl 2 (fetch failed: no mirror).',
    ],
    [
      'COMMAND_REFUSED',
      { message: 'host_policy (second_signature_missing): the approval needs signatures' },
      'The host refused a command: host policy (second signature missing): the approval needs signatures.',
    ],
    ['probes_red', { probes: ['web'], count: 1 }, 'A probe turned red: web.'],
    ['probes_red', { probes: ['a', 'b', 'c', 'd'], count: 12 }, '12 probes turned red: a, b, c and 1 more.'],
    ['probes_red', { probes: [{}, 7, null] }, 'Some probes turned red: unknown.'],
    [
      'hold_released',
      { packages: ['openssl', 'linux-*'] },
      'olga released the hold of openssl, linux-*. Their updates can be approved again.',
    ],
  ])('%s names what is in the list %j', (type, content, told) => {
    expect(narrativeOf({ type, actor: 'olga', content })).toBe(told);
  });

  test.each<[string, object]>([
    ['OPERATOR_CHANGED', { change: 'deleted', username: NAME }],
    ['OPERATOR_CHANGED', { change: 'changed', username: NAME, role: { before: NAME, after: NAME } }],
    ['HOST_TAGS_CHANGED', { before: [NAME], after: ['a', NAME] }],
    ['hold_released', { packages: ['openssl', NAME] }],
    ['policy_revoked', { name: NAME }],
    ['update_failed', { updates: [{ package: { name: NAME, version: '1' } }], reason: NAME }],
  ])('names in the sentence of %s turn nothing around them (%j)', (type, content) => {
    const told = narrativeOf({ type, actor: NAME, content });
    expect(told).toContain('\u2068');
    // No mark but those of closed isolates, which hold every letter that is written from right to left.
    expect(told.replaceAll(/\u2068[^\u2068\u2069]*\u2069/g, '')).not.toMatch(
      /[\u0590-\u05ff\u200e\u200f\u202a-\u202e\u2066-\u2069]/,
    );
    expect(told).not.toMatch(/\u202e/);
  });

  test.each(['constructor', '__proto__', 'NEW_TYPE'])(
    'the unknown type %s is described by its name',
    (type) => {
      expect(narrativeOf({ type, actor: null, content: {} })).toBe(`${type}.`);
    },
  );
});

/** The paths of the content that the sentence of a type reads. */
function pathsOf(type: string): string[] {
  const asked = new Set<string>();
  const recorder = (path: string): object =>
    new Proxy(
      {},
      {
        getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true, value: null }),
        get: (_, name) => {
          if (typeof name !== 'string') return undefined;
          const inner = path === '' ? name : `${path}.${name}`;
          asked.add(inner);
          return recorder(inner);
        },
      },
    );
  narrativeOf({ type, actor: null, content: recorder('') });
  const all = [...asked];
  return all.filter((path) => !all.some((other) => other.startsWith(`${path}.`))).toSorted();
}

function contentAt(path: string, value: unknown): unknown {
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
}
