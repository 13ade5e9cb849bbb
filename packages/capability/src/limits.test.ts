import { describe, expect, test } from 'vitest';
import {
  type Capability,
  decide,
  isValidLabel,
  parseCapabilityFile,
  refusalText,
  resolve,
  scopeAllows,
} from './capability.ts';

const MIB = 1024 * 1024;

describe('limits of a file, each with an error that names it', () => {
  const list = (length: number) =>
    Array.from({ length }, (_, i) => ({ identifier: `${i}`, permissions: [] }));

  test.each<[string, unknown, string]>([
    ['a text of more than 4 Mi characters', ' '.repeat(4 * MIB + 1), 'longer than 4194304 characters'],
    ['JSON deeper than 64 levels', `${'{"a":'.repeat(66)}1${'}'.repeat(66)}`, 'nested deeper than 64'],
    ['TOML deeper than 64 levels', `${'a.'.repeat(70)}a = 1`, 'nested deeper than 64'],
    ['a list in TOML deeper than 64 levels', `a = ${'['.repeat(70)}${']'.repeat(70)}`, 'is not TOML'],
    ['a value deeper than 64 levels', nested(70), 'nested deeper than 64'],
    ['a value that contains itself', cycle(), 'nested deeper than 64'],
    ['more than a million values', Array(1_000_001).fill(1), 'has more than 1000000 values'],
    ['more than 10,000 capabilities', list(10_001), 'has 10001 capabilities; at most 10000 are read'],
  ])('%s', (_, source, message) => {
    const file = parseCapabilityFile(source);
    expect('errors' in file && file.errors.map((error) => error.message).join('\n')).toContain(message);
  });

  test('10,000 capabilities and 64 levels are read', () => {
    expect(parseCapabilityFile(list(10_000))).toHaveProperty('capabilities');
    const deep = `{"identifier":"c","permissions":[],"x":${'['.repeat(63)}${']'.repeat(63)}}`;
    expect(parseCapabilityFile(deep)).toHaveProperty('capabilities');
  });

  test('a hundred errors are listed, and the others counted', () => {
    const file = parseCapabilityFile(Array(250).fill(1));
    const errors = 'errors' in file ? file.errors : [];
    expect(errors).toHaveLength(101);
    expect(errors.at(-1)?.message).toBe('150 more errors are not listed');
  });

  test('a hundred duplicate keys and unlisted unknown permissions take no longer', () => {
    const twice = parseCapabilityFile(`{"identifier":"c","permissions":[]${',"x":1'.repeat(50_000)}}`);
    expect('errors' in twice && twice.errors.length).toBe(100);
    const permissions = Array.from({ length: 20_000 }, (_, i) => `core:window:allow-clos-${i}`);
    const result = resolve(capabilities({ identifier: 'c', permissions }), { platform: 'linux' });
    expect('errors' in result && result.errors.at(-1)?.message).toBe('19900 more errors are not listed');
  });

  test('a message repeats 120 characters of a text, and none that could change a terminal', () => {
    const text = `\u001b[31m\u202e\u0085${'x'.repeat(500)}`;
    const file = parseCapabilityFile({ identifier: 'c', permissions: [], platforms: [text] });
    const message = 'errors' in file ? (file.errors[0]?.message ?? '') : '';
    expect(message.length).toBeLessThan(300);
    expect(message).toContain('"\\u001b[31m\\u202e\\u0085xxx');
  });
});

describe('limits of rules', () => {
  test('more than a million commands and values of scopes are refused, where they begin', () => {
    const allow = Array(20_000).fill(1);
    const permissions = [{ identifier: 'core:default', allow }];
    const result = resolve(capabilities({ identifier: 'c', permissions }), { platform: 'linux' });
    expect(result).toMatchObject({ errors: [{ path: '/capabilities/0/permissions/0' }] });
    expect('errors' in result && result.errors[0]?.message).toContain('more than 1000000');
  });

  test('a chain of sets without end is refused, however long it is', () => {
    const sets = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`s${i}`, [`s${i + 1}`]]));
    const permissions = { p: { sets: { ...sets, s20000: [] } } };
    const result = resolve([], { permissions, platform: 'linux' });
    expect('errors' in result && result.errors[0]?.message).toContain('nested deeper than 64');
  });

  test('capabilities without a file follow the same rules, and later changes to them have no effect', () => {
    const one = { identifier: 'c', windows: ['main'], permissions: ['allow-x'] };
    // @ts-expect-error: as a caller without types may pass it
    const resolved = resolve([one], { platform: 'linux' });
    if ('errors' in resolved) throw new Error(JSON.stringify(resolved.errors));
    one.windows.push('other');
    const ask = (window: string) =>
      decide(resolved.acl, { command: 'x', window, webview: '', origin: 'local' });
    expect([ask('main').allowed, ask('other').allowed]).toEqual([true, false]);
    // @ts-expect-error: as a caller without types may pass it
    expect(resolve([{ ...one, windows: ['['], local: 'no' }], { platform: 'linux' })).toMatchObject({
      errors: [{ path: '/capabilities/0/local' }, { path: '/capabilities/0/windows/0' }],
    });
    const scope = { allow: [JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`)] };
    const permissions = { p: { permissions: { x: { scope } } } };
    expect(resolve([], { permissions, platform: 'linux' })).toMatchObject({
      errors: [{ path: '/permissions' }],
    });
    // @ts-expect-error: as a caller without types may pass it
    expect(resolve(cycle(), { platform: 'linux' })).toHaveProperty('errors');
  });

  test('sets with many paths to one permission are walked once', () => {
    const sets = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [`s${i}`, i === 59 ? ['allow-x'] : [`s${i + 1}`, `p:s${i + 1}`]]),
    );
    const permissions = { p: { permissions: { 'allow-x': { commands: { allow: ['x'] } } }, sets } };
    const found = resolve(capabilities({ identifier: 'c', permissions: ['p:s0'] }), {
      permissions,
      platform: 'linux',
    });
    expect('acl' in found && found.acl.commands.get('p:x')?.grants).toHaveLength(1);
  });

  test('labels of more than 1,024 characters and URLs of more than 16,384 match nothing', () => {
    const every = capabilities({
      ...{ identifier: 'c', windows: ['*'], remote: { urls: ['https://x.y'] }, permissions: ['allow-x'] },
    });
    const found = resolve(every, { platform: 'linux' });
    if ('errors' in found) throw new Error('errors');
    const ask = (window: string, origin: string) =>
      decide(found.acl, { command: 'x', window, webview: '', origin });
    expect(ask('w'.repeat(1_024), 'local').allowed).toBe(true);
    expect(ask('w'.repeat(1_025), 'local').allowed).toBe(false);
    expect(ask('w', `https://x.y/${'p'.repeat(16_384 - 12)}`).allowed).toBe(true);
    expect(ask('w', `https://x.y/${'p'.repeat(16_384 - 11)}`).allowed).toBe(false);
    // Encoded it is three times as long.
    expect(ask('w', `https://x.y/${'ü'.repeat(8_000)}`).allowed).toBe(false);
  });
});

describe('what shells need beside decisions', () => {
  test.each([
    ['a denial wins over an equal allowance', { allow: ['a'], deny: ['a'] }, 'a', false],
    ['what is allowed passes', { allow: [{ p: 1, q: [null] }], deny: [] }, { q: [null], p: 1 }, true],
    ['what is not allowed does not', { allow: ['a'], deny: [] }, 'b', false],
    ['an empty list allows everything', { allow: [], deny: [] }, 'b', true],
    ['that is not denied', { allow: [], deny: ['b'] }, 'b', false],
    ['values of another kind are others', { allow: [1], deny: [] }, '1', false],
  ])('scopeAllows: %s', (_, scope, value, isAllowed) => expect(scopeAllows(scope, value)).toBe(isAllowed));

  test('scopeAllows asks the command what an entry means', () => {
    const starts = (entry: unknown, value: unknown) => String(value).startsWith(String(entry));
    expect(scopeAllows({ allow: ['/home'], deny: ['/home/.ssh'] }, '/home/x', starts)).toBe(true);
    expect(scopeAllows({ allow: ['/home'], deny: ['/home/.ssh'] }, '/home/.ssh/id', starts)).toBe(false);
  });

  test.each(['main', 'a-b/c:d_e', 'Ünï1', '日本', '١'])('%s may be a label', (label) =>
    expect(isValidLabel(label)).toBe(true),
  );
  test.each(['', 'a b', 'a.b', 'a\n', '\u0000', '😀', 'a*', '\ud800'])('%j may not', (label) =>
    expect(isValidLabel(label)).toBe(false),
  );

  test('the text for a page names the command and nothing else', () => {
    expect(refusalText('core:window:close')).toBe('Command "core:window:close" not allowed by ACL');
    expect(refusalText('\u202e'.repeat(1_000)).length).toBeLessThan(1_000);
  });
});

function capabilities(one: object): readonly Capability[] {
  const file = parseCapabilityFile(one);
  if ('errors' in file) throw new Error(JSON.stringify(file.errors));
  return file.capabilities;
}

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)];
}

function cycle(): unknown {
  const self: { self?: unknown } = {};
  self.self = self;
  return self;
}
