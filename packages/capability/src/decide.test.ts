import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Acl,
  allowedCommands,
  type Capability,
  decide,
  explain,
  parseCapabilityFile,
  resolve,
} from './capability.ts';
import { decideNaively } from './testing/naive.ts';

const MANIFESTS = {
  fs: {
    permissions: {
      'allow-read': { commands: { allow: ['read'] } },
      'deny-read': { commands: { deny: ['read'] } },
      'allow-write': { commands: { allow: ['write'] }, scope: { allow: ['w'] } },
      'allow-both': { commands: { allow: ['read', 'write'] }, scope: { deny: ['b'] } },
      'on-mac': { commands: { allow: ['read'] }, scope: { allow: ['mac'] }, platforms: ['macOS'] },
      whole: { scope: { allow: ['whole'], deny: ['none'] } },
      all: { commands: { allow: ['write'] } },
    },
    sets: {
      all: ['allow-read', 'allow-both'],
      more: ['all', 'whole', 'os:default'],
      'deny-all': ['deny-read'],
    },
    default: ['all', 'more'],
  },
  os: {
    permissions: { 'allow-name': { commands: { allow: ['name'] } } },
    default: ['allow-name', 'fs:whole'],
  },
} as const;
const LABELS = ['main', 'a', 'ab', 'a/b', 'b'];
const PATTERNS = ['main', 'a', '*', 'a*', '?', '[ab]', '**/b', '[!a]', 'a?b', 'none'];
const ORIGINS = ['local', 'https://a.b/', 'https://x.a.b/api/1', 'http://a.b/', 'nonsense'];
const URLS = ['https://a.b/*', 'https://*.a.b/api/:id', 'http{s}?://a.b/*', 'https://(x|y).a.b/*'];
const COMMANDS = ['fs:read', 'fs:write', 'os:name', 'x', 'y', 'fs:none'];
const PERMISSIONS = [
  ...Object.entries(MANIFESTS).flatMap(([plugin, { permissions }]) =>
    Object.keys(permissions).map((p) => `${plugin}:${p}`),
  ),
  ...['fs:more', 'fs:deny-all', 'fs:default', 'os:default', 'allow-x', 'deny-x', 'allow-y'],
];

const some = (from: readonly string[], maxLength = 2) =>
  fc.uniqueArray(fc.constantFrom(...from), { maxLength });
const values = fc.option(fc.array(fc.constantFrom('p', 'q', 1, null), { maxLength: 2 }));
const capability = fc.record({
  remote: fc.option(fc.record({ urls: some(URLS) })),
  local: fc.boolean(),
  windows: some(PATTERNS),
  webviews: some(PATTERNS),
  permissions: fc.uniqueArray(
    fc.record({ identifier: fc.constantFrom(...PERMISSIONS), allow: values, deny: values }),
    { maxLength: 4, selector: (entry) => JSON.stringify(entry) },
  ),
  platforms: fc.option(fc.constantFrom(['linux'], ['macOS'], []), { freq: 3 }),
});
const capabilities = fc
  .array(capability, { maxLength: 5 })
  .map((list) => list.map((one, i) => ({ identifier: `c${i}`, description: '', ...one })));
const request = fc.record({
  command: fc.constantFrom(...COMMANDS),
  window: fc.constantFrom(...LABELS),
  webview: fc.constantFrom(...LABELS),
  origin: fc.constantFrom(...ORIGINS),
});
const requests = fc.array(request, { minLength: 1, maxLength: 20 });

describe('R8: decisions of any capabilities', () => {
  test('decide agrees with a naive reading of the rules, also when cached', () => {
    const seen = { allowed: 0, refused: 0 };
    fc.assert(
      fc.property(capabilities, requests, (list, asked) => {
        const acl = aclOf(list);
        const world = { capabilities: read(list), manifests: MANIFESTS, platform: 'linux' } as const;
        for (const one of [...asked, ...asked]) {
          const decision = decide(acl, one);
          seen[decision.allowed ? 'allowed' : 'refused'] += 1;
          expect(decision.allowed ? decision.scope : 'refused').toEqual(decideNaively(world, one));
        }
      }),
      { numRuns: 400 },
    );
    expect(seen.allowed).toBeGreaterThan(100);
  });

  test('a denial that is added never allows more', () => {
    fc.assert(
      fc.property(capabilities, capability, requests, (list, other, asked) => {
        const permissions = ['fs:deny-read', 'deny-x'].map((identifier) => ({
          identifier,
          allow: null,
          deny: null,
        }));
        const denial = { ...other, identifier: 'd', description: '', permissions };
        const [before, after] = [aclOf(list), aclOf([...list, denial])];
        for (const one of asked)
          if (decide(after, one).allowed) expect(decide(before, one).allowed).toBe(true);
      }),
    );
  });

  test('a capability that is taken away never allows more, unless it denied', () => {
    fc.assert(
      fc.property(capabilities, fc.nat(), requests, (list, at, asked) => {
        const taken = list[at % Math.max(1, list.length)];
        if (JSON.stringify(taken?.permissions ?? []).includes('deny-')) return;
        const [before, after] = [aclOf(list), aclOf(list.filter((one) => one !== taken))];
        for (const one of asked)
          if (decide(after, one).allowed) expect(decide(before, one).allowed).toBe(true);
      }),
    );
  });

  test('the order of capabilities, of their lists and of their permissions never matters', () => {
    fc.assert(
      fc.property(capabilities, requests, (list, asked) => {
        const turned = list.toReversed().map((one) => ({
          ...one,
          windows: one.windows.toReversed(),
          webviews: one.webviews.toReversed(),
          permissions: one.permissions.toReversed(),
        }));
        const [acl, other] = [aclOf(list), aclOf(turned)];
        for (const one of asked) expect(inAnyOrder(decide(other, one))).toEqual(inAnyOrder(decide(acl, one)));
      }),
    );
  });

  test('the explanation and the list of commands agree with the decision', () => {
    fc.assert(
      fc.property(capabilities, requests, (list, asked) => {
        const acl = aclOf(list);
        for (const one of asked) {
          const { decision, deniedBy, grantedBy } = explain(acl, one);
          expect(decision.allowed).toBe(deniedBy.length === 0 && grantedBy.length > 0);
          expect(allowedCommands(acl, one).includes(one.command)).toBe(decision.allowed);
        }
      }),
    );
  });

  test('no text of a request throws or is allowed', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('__proto__', 'a'.repeat(100_000), '\ud800'),
    );
    const acl = aclOf(read([{ identifier: 'c', windows: ['main'], permissions: ['allow-x'] }]));
    fc.assert(
      fc.property(text, text, text, text, (command, window, webview, origin) => {
        const decision = decide(acl, { command, window, webview, origin });
        expect(decision.allowed ? '' : decision.reason.length).toBeLessThan(3_000);
      }),
    );
  });

  test('a decision cannot be changed by its receiver', () => {
    const acl = aclOf(
      read([
        { identifier: 'c', windows: ['w'], permissions: [{ identifier: 'allow-x', allow: [{ a: 1 }] }] },
      ]),
    );
    const decision = decide(acl, { command: 'x', window: 'w', webview: 'w', origin: 'local' });
    if (!decision.allowed) throw new Error('refused');
    for (const part of [
      decision,
      decision.scope.allow,
      decision.scope.allow[0],
      decision.scope.deny,
      decision.scope,
    ])
      expect(Object.isFrozen(part)).toBe(true);
  });

  test('a refusal says what is missing', () => {
    const acl = aclOf(
      read([{ identifier: 'c', windows: ['w'], permissions: ['allow-x', 'allow-y', 'deny-y'] }]),
    );
    const ask = (command: string, origin: string) =>
      decide(acl, { command, window: 'w', webview: 'v', origin });
    const reasons = [ask('z', 'local'), ask('y', 'local'), ask('x', 'nowhere'), ask('x', 'https://a.b')];
    expect(reasons.map((one) => (one.allowed ? '' : one.reason.replace(/^.*?origin [^:]*: /, '')))).toEqual([
      'no active capability names it',
      'denied by permission "deny-y" of capability "c"',
      'the origin "nowhere" is not a URL that can be judged',
      expect.stringContaining('no capability that grants it serves this window or webview from this origin'),
    ]);
  });

  test('callers beyond the cache limit are still decided', () => {
    const acl = aclOf(read([{ identifier: 'c', windows: ['w-*'], permissions: ['allow-x'] }]));
    for (let i = 0; i < 2_000; i++) {
      const asked = { command: 'x', webview: 'v', origin: 'local' };
      expect(decide(acl, { ...asked, window: `w-${i % 700}` }).allowed).toBe(true);
      expect(decide(acl, { ...asked, window: `v-${i % 700}` }).allowed).toBe(false);
    }
  });
});

function aclOf(list: readonly Capability[]): Acl {
  const result = resolve(list, { permissions: MANIFESTS, platform: 'linux' });
  if ('errors' in result) throw new Error(JSON.stringify(result.errors));
  return result.acl;
}

function read(list: unknown): readonly Capability[] {
  const file = parseCapabilityFile(list);
  if ('errors' in file) throw new Error(JSON.stringify(file.errors));
  return file.capabilities;
}

function inAnyOrder(decision: ReturnType<typeof decide>) {
  if (!decision.allowed) return decision.allowed;
  const { allow, deny } = decision.scope;
  return { allow: allow.map(String).toSorted(), deny: deny.map(String).toSorted() };
}
