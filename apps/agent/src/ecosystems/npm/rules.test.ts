import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { originOf, toActions } from './actions.ts';
import { isAddress } from './artifacts.ts';
import { integrityOf, sha512Of } from './integrity.ts';
import { archOf, type NpmPlace, placePathOf, splitLocation } from './locations.ts';
import { type LockEntry, parseLockfile } from './lockfile.ts';
import { directNeeds, parseManifest, pinNeeds } from './manifest.ts';
import { judgeOffer, parseOffers } from './offers.ts';
import { findOmitted, findProjectFaults } from './project-state-rules.ts';
import { fits, reachable, reachableGlobally } from './reachable-rules.ts';
import { restoreRoot } from './restore-root.ts';
import { isName, isSafeArgument } from './session.ts';
import type { DiskPackage } from './tree.ts';

const LINUX = { os: 'linux', cpu: 'x64', libc: 'glibc' };
const NOTHING_OMITTED = { development: false, optional: false };
const GLOBAL: NpmPlace = { kind: 'global', path: '/usr' };
const PROJECT: NpmPlace = { kind: 'project', path: '/srv/app' };
const SHA = 'a'.repeat(128);

function lockOf(packages: Record<string, object>) {
  const parsed = parseLockfile(JSON.stringify({ lockfileVersion: 3, packages }));
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.value;
}

const at = (version: string, rest: object = {}) => ({ version, ...rest });

function diskOf(packages: Record<string, string>) {
  const entries = Object.entries(packages).map(([location, said]): [string, DiskPackage] => {
    const [name = '', version = ''] = said.split(' ');
    return [location, { location, name, version }];
  });
  return { packages: new Map(entries), links: new Set<string>(), faults: [] };
}

describe('integrity', () => {
  test('is SHA-512 in hex, and back again', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 64, maxLength: 64 }), (bytes) => {
        const hex = Buffer.from(bytes).toString('hex');
        expect(sha512Of(integrityOf(hex))).toBe(hex);
        expect(sha512Of(`sha1-AAAA ${integrityOf(hex)}?opt=1`)).toBe(hex);
      }),
    );
  });

  test.each([
    ['nothing', ''],
    ['SHA-1 alone', 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk='],
    ['a digest that is too short', 'sha512-AAAA'],
    ['two that differ', `${integrityOf(SHA)} ${integrityOf('b'.repeat(128))}`],
    ['loose trailing bits', `sha512-${'A'.repeat(85)}B==`],
    ['what is longer than any', `${'x '.repeat(3_000)}${integrityOf(SHA)}`],
  ])('of %s is none', (_title, text) => {
    expect(sha512Of(text)).toBe(null);
  });
});

describe('places (decision 0009)', () => {
  test.each<[NpmPlace, string, string, string | null]>([
    [PROJECT, 'node_modules/a', 'a', '/srv/app'],
    [PROJECT, 'node_modules/@s/a', '@s/a', '/srv/app'],
    [PROJECT, 'node_modules/a/node_modules/b', 'b', '/srv/app//node_modules/a/node_modules/b'],
    [PROJECT, 'node_modules/alias', 'a', '/srv/app//node_modules/alias'],
    [GLOBAL, 'node_modules/npm', 'npm', '/usr'],
    [GLOBAL, 'node_modules/npm/node_modules/b', 'b', '/usr//lib/node_modules/npm/node_modules/b'],
    [PROJECT, `node_modules/${'a'.repeat(100)}/node_modules/${'b'.repeat(150)}`, 'b'.repeat(150), null],
  ])('%j, %s of %s is %s', (place, location, name, arch) => {
    expect(archOf(place, { location, name })).toBe(arch);
    if (arch !== null) expect(placePathOf(arch)).toBe(place.path);
  });

  test.each(['', 'node_modules', 'node_modules/', 'x/node_modules/a', 'node_modules/a/b', 'node_modules/@s'])(
    '%j is no location',
    (location) => {
      expect(splitLocation(location)).toBe(null);
    },
  );
});

test.each([
  '--force',
  '../a',
  'a b',
  '@s',
  '@/a',
  '.a',
  '_a',
  'a/b',
  'git+ssh://x',
  'a@1',
  '',
  'a'.repeat(215),
])('%j is no name', (name) => {
  expect(isName(name)).toBe(false);
});

test.each(['^1.0.0', '1.0', 'latest', '', '1.0.0 || 2', 'https://x', '1.0.0 --force', 'v1.0.0'])(
  '%j is no exact version',
  (version) => {
    expect(isSafeArgument({ name: 'a', version })).toBe(false);
  },
);

describe('what npm puts on this host from a lockfile', () => {
  const lock = lockOf({
    '': {
      dependencies: { a: '1' },
      devDependencies: { d: '1' },
      optionalDependencies: { o: '1', away: '1' },
    },
    'node_modules/a': at('1.0.0', { dependencies: { b: '1' }, peerDependencies: { p: '1' } }),
    'node_modules/a/node_modules/b': at('2.0.0'),
    'node_modules/b': at('1.0.0'),
    'node_modules/p': at('1.0.0'),
    'node_modules/d': at('1.0.0', { dependencies: { b: '1' } }),
    'node_modules/o': at('1.0.0'),
    'node_modules/away': at('1.0.0', { os: ['darwin'], dependencies: { 'only-away': '1' } }),
    'node_modules/only-away': at('1.0.0'),
    'node_modules/nobodys': at('1.0.0'),
  });
  const reached = (omitted = NOTHING_OMITTED) =>
    [...reachable(lock, { platform: LINUX, omitted })]
      .map((one) => one.replace(/node_modules\//g, ''))
      .sort();

  test('includes reachable packages and peers, without optional ones for other systems and their dependencies', () => {
    expect(reached()).toEqual(['a', 'a/b', 'b', 'd', 'o', 'p']);
    expect(reached({ development: true, optional: false })).toEqual(['a', 'a/b', 'o', 'p']);
    expect(reached({ development: false, optional: true })).toEqual(['a', 'a/b', 'b', 'd', 'p']);
  });

  test('excludes a global package’s own peers', () => {
    const global = reachableGlobally(lock, { name: 'a', platform: LINUX });
    expect([...global].sort()).toEqual(['node_modules/a', 'node_modules/a/node_modules/b']);
  });

  test('includes what an included package bundles, even if nothing requires it', () => {
    const loose = { inBundle: true, extraneous: true };
    const bundling = lockOf({
      '': { dependencies: { a: '1' } },
      'node_modules/a': at('1.0.0', { dependencies: { b: '1' } }),
      'node_modules/a/node_modules/b': at('1.0.0', { inBundle: true }),
      'node_modules/a/node_modules/b/node_modules/loose': at('1.0.0', loose),
      'node_modules/a/node_modules/loose': at('1.0.0', loose),
      'node_modules/a/node_modules/not-loose': at('1.0.0', { inBundle: true }),
      'node_modules/c': at('1.0.0'),
      'node_modules/c/node_modules/loose': at('1.0.0', loose),
    });
    const brought = reachable(bundling, { platform: LINUX, omitted: NOTHING_OMITTED });
    expect([...brought].sort()).toEqual([
      'node_modules/a',
      'node_modules/a/node_modules/b',
      'node_modules/a/node_modules/b/node_modules/loose',
      'node_modules/a/node_modules/loose',
    ]);
  });

  test('terminates on circular dependencies', () => {
    const round = lockOf({
      '': { dependencies: { a: '1' } },
      'node_modules/a': at('1.0.0', { dependencies: { b: '1' } }),
      'node_modules/b': at('1.0.0', { dependencies: { a: '1' } }),
    });
    expect(reachable(round, { platform: LINUX, omitted: NOTHING_OMITTED }).size).toBe(2);
  });

  test.each<[object, boolean]>([
    [{}, true],
    [{ os: ['linux'] }, true],
    [{ os: ['!linux'] }, false],
    [{ os: ['!win32'] }, true],
    [{ os: ['win32', 'darwin'] }, false],
    [{ cpu: ['arm64'] }, false],
    [{ libc: ['musl'] }, false],
    [{ libc: ['glibc'] }, true],
    [{ os: ['any'] }, true],
  ])('%j fits linux on x64 with glibc: %s', (limits, expected) => {
    const [entry] = lockOf({ 'node_modules/a': at('1.0.0', limits) }).entries.values();
    expect(entry && fits(entry, LINUX)).toBe(expected);
  });
});

describe('a project on the disk', () => {
  const lock = lockOf({
    '': { dependencies: { a: '1' }, devDependencies: { d: '1' } },
    'node_modules/a': at('1.0.0'),
    'node_modules/d': at('1.0.0', { dev: true }),
  });
  const faultsOf = (packages: Record<string, string>) => {
    const disk = diskOf(packages);
    const omitted = findOmitted(lock, disk, LINUX);
    return findProjectFaults(lock, disk, { platform: LINUX, omitted });
  };

  test.each<[string, Record<string, string>, string[]]>([
    ['as the lockfile says', { 'node_modules/a': 'a 1.0.0', 'node_modules/d': 'd 1.0.0' }, []],
    ['installed without its development needs', { 'node_modules/a': 'a 1.0.0' }, []],
    ['lacking a package', { 'node_modules/d': 'd 1.0.0' }, ['node_modules/a is not installed']],
    ['at another version', { 'node_modules/a': 'a 1.0.1' }, ['node_modules/a is a 1.0.1, not a 1.0.0']],
    ['with another package', { 'node_modules/a': 'b 1.0.0' }, ['node_modules/a is b 1.0.0, not a 1.0.0']],
    [
      'with one that is not in the lockfile',
      { 'node_modules/a': 'a 1.0.0', 'node_modules/x': 'x 1.0.0' },
      ['node_modules/x is not in the lockfile'],
    ],
  ])('%s', (_title, packages, faults) => {
    expect(faultsOf(packages)).toEqual(faults);
  });
});

describe('the actions of a plan', () => {
  const entryOf = (location: string, version: string, rest: Partial<LockEntry> = {}): [string, LockEntry] => {
    const entry = lockOf({ [location]: at(version, { resolved: 'https://r.test/x.tgz' }) }).entries.get(
      location,
    );
    if (entry === undefined) throw new Error(location);
    return [location, { ...entry, ...rest }];
  };

  test('are the sorted difference by place; unchanged packages appear only when npm rewrites them', () => {
    const before = diskOf({
      'node_modules/a': 'a 1.0.0',
      'node_modules/b': 'b 2.0.0',
      'node_modules/gone': 'gone 1.0.0',
      'node_modules/same': 'same 1.0.0',
    }).packages;
    const after = new Map([
      entryOf('node_modules/a', '1.10.0'),
      entryOf('node_modules/b', '1.0.0'),
      entryOf('node_modules/new', '1.0.0'),
      entryOf('node_modules/same', '1.0.0'),
      entryOf('node_modules/a/node_modules/inside', '1.0.0', { isBundled: true }),
    ]);
    const said = (isRewritten: boolean) => {
      const actions = toActions(PROJECT, { before, after, isRewritten });
      if (!actions.ok) throw new Error(actions.reason);
      return actions.value.map(({ action: a }) => [a.action, a.name, a.from_version, a.to_version]);
    };
    const changes = [
      ['upgrade', 'a', '1.0.0', '1.10.0'],
      ['downgrade', 'b', '2.0.0', '1.0.0'],
      ['remove', 'gone', '1.0.0', undefined],
      ['install', 'inside', undefined, '1.0.0'],
      ['install', 'new', undefined, '1.0.0'],
    ];
    expect(said(false)).toEqual(changes);
    expect(said(true)).toEqual([...changes, ['install', 'same', '1.0.0', '1.0.0']]);
  });

  describe('of what is bundled', () => {
    const kit = (version: string) => entryOf('node_modules/kit', version);
    const inner = entryOf('node_modules/kit/node_modules/inner', '1.0.0', { isBundled: true });
    const deep = entryOf('node_modules/kit/node_modules/inner/node_modules/deep', '1.0.0', {
      isBundled: true,
    });
    const present = {
      'node_modules/kit': 'kit 1.0.0',
      'node_modules/kit/node_modules/inner': 'inner 1.0.0',
      'node_modules/kit/node_modules/inner/node_modules/deep': 'deep 0.9.0',
    };
    const said = (after: [string, LockEntry][], before: Record<string, string> = present) => {
      const actions = toActions(PROJECT, {
        before: diskOf(before).packages,
        after: new Map(after),
        isRewritten: false,
      });
      return actions.ok
        ? actions.value.map(
            ({ action: a, bundler }) => `${a.action} ${a.name} in ${bundler?.name ?? 'itself'}`,
          )
        : actions.reason;
    };

    test('are like those of other packages, reinstalled with the package around them (A1)', () => {
      expect(said([kit('1.1.0'), inner, deep])).toEqual([
        'upgrade deep in kit',
        'install inner in kit',
        'upgrade kit in itself',
      ]);
      expect(said([kit('1.1.0'), inner])).toEqual([
        'remove deep in itself',
        'install inner in kit',
        'upgrade kit in itself',
      ]);
      expect(said([kit('1.0.0'), inner, deep])).toEqual(['upgrade deep in kit']);
      expect(said([kit('1.0.0'), inner, deep].slice(0, 2), { ...present })).toEqual([
        'remove deep in itself',
      ]);
    });

    test('are none where the project itself bundles it, or it has no version', () => {
      const own = entryOf('node_modules/kit', '1.1.0', { isBundled: true });
      expect(said([own])).toBe('node_modules/kit is bundled by the project itself');
      expect(said([kit('1.1.0'), [inner[0], { ...inner[1], version: null }]])).toContain('has no version');
    });
  });

  test('of a folder that gets another package are a removal and an installation', () => {
    const before = diskOf({ 'node_modules/alias': 'a 1.0.0' }).packages;
    const after = new Map([entryOf('node_modules/alias', '1.0.0', { name: 'b' })]);
    const actions = toActions(PROJECT, { before, after, isRewritten: false });
    expect(actions.ok && actions.value.map(({ action: a }) => [a.action, a.name])).toEqual([
      ['remove', 'a'],
      ['install', 'b'],
    ]);
  });

  test('are none where a link is in the way', () => {
    const after = new Map([entryOf('node_modules/a', '1.0.0', { isLink: true })]);
    expect(toActions(PROJECT, { before: new Map(), after, isRewritten: false })).toMatchObject({ ok: false });
  });
});

test.each([
  ['https://r.test/a/-/a-1.0.0.tgz', 'https://r.test/', true],
  ['http://r.test:8080/a.tgz', 'http://r.test:8080/', true],
  ['git+ssh://git@r.test/a.git#0123', null, false],
  ['file:../a', null, false],
  ['https://user:secret@r.test/a.tgz', 'https://r.test/', false],
  ['https://r.test/a b', 'https://r.test/', false],
])('%s comes from %s and is an address: %s', (resolved, origin, address) => {
  expect(originOf({ resolved })).toBe(origin);
  expect(isAddress(resolved)).toBe(address);
});

describe('package.json', () => {
  const read = (value: object) => {
    const parsed = parseManifest(JSON.stringify(value));
    if (!parsed.ok) throw new Error(parsed.reason);
    return parsed.value;
  };

  test.each<[string, boolean, boolean]>([
    ['^1.0.0', true, false],
    ['1.0.0', true, true],
    ['=1.0.0', true, true],
    ['latest', true, false],
    ['*', true, false],
    ['1.0.0 - 2.0.0', true, false],
    ['npm:other@1', false, false],
    ['git+https://x.test/y.git', false, false],
    ['file:../x', false, false],
    ['user/repository', false, false],
    ['workspace:*', false, false],
  ])('a need of %j is of a registry: %s, pinned: %s', (range, isRegistry, isPinned) => {
    expect(directNeeds(read({ dependencies: { a: range } }))).toEqual([
      { name: 'a', range, isRegistry, isPinned },
    ]);
  });

  test('pins one dependency wherever it is declared, and changes nothing else', () => {
    const manifest = read({
      name: 'p',
      scripts: { x: 'y' },
      dependencies: { a: '^1', b: '^1' },
      devDependencies: { a: '1' },
    });
    expect(JSON.parse(pinNeeds(manifest, [{ name: 'a', version: '1.2.3' }]))).toEqual({
      ...{ name: 'p', scripts: { x: 'y' } },
      ...{ dependencies: { a: '1.2.3', b: '^1' }, devDependencies: { a: '1.2.3' } },
    });
    expect(JSON.parse(pinNeeds(manifest, [{ name: 'toString', version: '1.2.3' }]))).toEqual(manifest);
  });

  test.each(['{"dependencies":{"a":1}}', '{"dependencies":[]}', '{', '{"a":1,"a":2}'])(
    '%s is refused',
    (text) => {
      expect(parseManifest(text)).toMatchObject({ ok: false });
    },
  );

  test('the lockfile says of the project what it said before, in its own indentation', () => {
    const old =
      '{\n\t"name": "p",\n\t"lockfileVersion": 3,\n\t"packages": {\n\t\t"": { "dependencies": { "a": "^1" } }\n\t}\n}\n';
    const fresh = JSON.stringify({
      name: 'x',
      lockfileVersion: 3,
      packages: { '': { dependencies: { a: '1.2.3' } }, n: {} },
    });
    const restored = restoreRoot(fresh, old);
    if (!restored.ok) throw new Error(restored.reason);
    expect(JSON.parse(restored.value)).toEqual({
      ...{ name: 'p', lockfileVersion: 3 },
      packages: { '': { dependencies: { a: '^1' } }, n: {} },
    });
    expect(restored.value).toContain('\n\t"name"');
  });
});

describe('what a registry offers', () => {
  test.each<[string, string, string]>([
    ['1.0.0', '1.0.1', 'newer'],
    ['1.9.0', '1.10.0', 'newer'],
    ['1.0.0', '1.0.0', 'not_newer'],
    ['2.0.0', '1.0.0', 'not_newer'],
    ['1.0.0', '2.0.0-rc.1', 'not_newer'], // never a prerelease over a release
    ['2.0.0-rc.1', '2.0.0-rc.2', 'newer'],
    ['2.0.0-rc.1', '2.0.0', 'newer'],
    ['1.0.0', '99999999999999999.0.0', 'undecidable'],
  ])('%s to %s is %s', (current, offered, judged) => {
    expect(judgeOffer({ current, offered })).toBe(judged);
  });

  test('is read by name; a package that is called error is one', () => {
    const answer = { a: { wanted: '1.0.1', latest: '2.0.0' }, error: { wanted: '1.0.0', latest: 'x' } };
    const parsed = parseOffers(JSON.stringify(answer));
    expect(parsed.ok && [...parsed.value]).toEqual([
      ['a', { wanted: '1.0.1', latest: '2.0.0' }],
      ['error', { wanted: '1.0.0', latest: null }],
    ]);
  });

  test.each(['', '[]', '{"a":1}', '{"error":{"code":"E500","summary":"down"}}', 'npm ERR!'])(
    '%j is no answer',
    (text) => {
      expect(parseOffers(text)).toMatchObject({ ok: false });
    },
  );
});
