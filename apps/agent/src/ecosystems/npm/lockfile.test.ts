import { describe, expect, test } from 'vitest';
import { LOCKFILE_MAX_BYTES, LOCKFILE_MAX_PACKAGES, parseLockfile } from './lockfile.ts';

const entry = { version: '1.0.0', resolved: 'https://r.test/a/-/a-1.0.0.tgz', integrity: 'sha512-x' };
const lockOf = (packages: Record<string, unknown>, lockfileVersion = 3) =>
  JSON.stringify({
    name: 'p',
    lockfileVersion,
    requires: true,
    packages: { '': { name: 'p' }, ...packages },
  });

describe('a lockfile', () => {
  test('of version 2 or 3 is read with names, places and needs', () => {
    const text = lockOf({
      'node_modules/a': {
        ...entry,
        dependencies: { b: '^1' },
        optionalDependencies: { c: '1' },
        os: ['linux'],
      },
      'node_modules/@s/b/node_modules/a': { ...entry, name: 'other', inBundle: true },
    });
    const parsed = parseLockfile(text);
    if (!parsed.ok) throw new Error(parsed.reason);
    expect([...parsed.value.entries.keys()]).toEqual(['node_modules/a', 'node_modules/@s/b/node_modules/a']);
    const a = parsed.value.entries.get('node_modules/a');
    expect([...(a?.needs.required ?? [])]).toEqual([['b', '^1']]);
    expect([...(a?.needs.optional ?? [])]).toEqual([['c', '1']]);
    expect(a?.fits).toEqual({ os: ['linux'], cpu: null, libc: null });
    const nested = parsed.value.entries.get('node_modules/@s/b/node_modules/a');
    expect(nested).toMatchObject({ name: 'other', isBundled: true });
    expect(parseLockfile(lockOf({}, 2))).toMatchObject({ ok: true, value: { version: 2 } });
  });

  test.each<[string, string]>([
    ['of version 1', JSON.stringify({ lockfileVersion: 1, dependencies: {} })],
    ['of a version to come', lockOf({}, 4)],
    ['that is cut off', lockOf({ 'node_modules/a': entry }).slice(0, -9)],
    ['that is no object', '[]'],
    ['with a path that goes up', lockOf({ 'node_modules/../../etc': entry })],
    ['with a path that goes up within', lockOf({ 'node_modules/a/../../x': entry })],
    ['with an absolute path', lockOf({ '/etc/node_modules/a': entry })],
    ['with a drive', lockOf({ 'C:/node_modules/a': entry })],
    ['with a backslash', lockOf({ 'node_modules\\..\\a': entry })],
    ['with an empty part', lockOf({ 'node_modules//a': entry })],
    ['with a line break in a path', lockOf({ 'node_modules/a\nb': entry })],
    ['with a name of two slashes', lockOf({ 'node_modules/a/b/c': entry })],
    ['with a name with a slash', lockOf({ 'node_modules/a': { ...entry, name: 'a/b' } })],
    ['with a name that is a path', lockOf({ 'node_modules/a': { ...entry, name: '../b' } })],
    ['with a name that is an option', lockOf({ 'node_modules/--force': entry })],
    ['with a name that starts with a dot', lockOf({ 'node_modules/.bin': entry })],
    ['with a version that is a range', lockOf({ 'node_modules/a': { ...entry, version: '^1.0.0' } })],
    [
      'with a version that is an address',
      lockOf({ 'node_modules/a': { ...entry, version: 'git+ssh://x/y' } }),
    ],
    ['without a version', lockOf({ 'node_modules/a': { resolved: entry.resolved } })],
    ['with a prototype for a package', lockOf({}).replace('"":', '"__proto__":{"version":"1.0.0"},"":')],
    [
      'with a package named twice',
      lockOf({ 'node_modules/a': entry }).replace('"":', '"node_modules/a":{},"":'),
    ],
    [
      'with dependencies that are no texts',
      lockOf({ 'node_modules/a': { ...entry, dependencies: { b: 1 } } }),
    ],
  ])('%s is refused', (_title, text) => {
    expect(parseLockfile(text)).toMatchObject({ ok: false, reason: expect.stringMatching(/^the lockfile /) });
    expect(Object.hasOwn(Object.prototype, 'version')).toBe(false);
  });

  test('packages may be named like members of Object.prototype', () => {
    const parsed = parseLockfile(
      lockOf({ 'node_modules/constructor': entry, 'node_modules/toString': entry }),
    );
    expect(parsed.ok && [...parsed.value.entries.keys()]).toEqual([
      'node_modules/constructor',
      'node_modules/toString',
    ]);
  });

  test('of a hundred thousand packages, or of too many bytes, is refused in seconds', () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`node_modules/p${i}`, entry]));
    const before = process.threadCpuUsage();
    expect(parseLockfile(lockOf(many))).toMatchObject({
      ok: false,
      reason: expect.stringContaining(String(LOCKFILE_MAX_PACKAGES)),
    });
    expect(parseLockfile(' '.repeat(LOCKFILE_MAX_BYTES + 1))).toMatchObject({ ok: false });
    const { user, system } = process.threadCpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(10_000);
  });

  test('nested beyond the limit is refused', () => {
    const location = Array.from({ length: 40 }, (_, i) => `node_modules/p${i}`).join('/');
    expect(parseLockfile(lockOf({ [location]: entry }))).toMatchObject({ ok: false });
  });

  test('with links or local folders has workspaces', () => {
    const linked = parseLockfile(
      lockOf({ 'node_modules/w': { resolved: 'w', link: true }, w: { version: '1.0.0' } }),
    );
    expect(linked).toMatchObject({ ok: true, value: { hasWorkspaces: true } });
    expect(linked.ok && linked.value.entries.has('w')).toBe(false);
  });
});
