import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ownUid } from '../platform/file-layer.ts';
import { type ChecksWorld, createChecksWorld } from '../testing/checks-world.ts';
import { readProbes } from './probe-file.ts';

let world: ChecksWorld;
beforeEach(() => {
  world = createChecksWorld();
});
afterEach(() => world[Symbol.dispose]());

const isRoot = ownUid() === 0;
const folder = () => join(world.folder, 'probes.d');
const web = () => join(folder(), 'web.json');

/** The names with what is wrong, or what is wrong with the folder. */
function read(): string | string[] {
  const found = readProbes(world.policy);
  if (!found.ok) return found.fault;
  return found.files.map((file) => (file.ok ? file.name : `${file.name}: ${file.fault}`));
}

test('without a folder there are no probes', () => {
  expect(read()).toEqual([]);
});

test('files are read by name; hidden ones and those of other endings are passed over', () => {
  world.probe('web', { kind: 'tcp', port: 80 });
  world.probe('db', { kind: 'unit', unit: 'postgresql@16-main.service' });
  for (const other of ['.hidden.json', 'README', 'web.json.dpkg-old'])
    writeFileSync(join(folder(), other), '');
  expect(read()).toEqual(['db', 'web']);
});

describe('a file that somebody else could change is not used, and stays in the list', () => {
  beforeEach(() => {
    world.probe('web', { kind: 'tcp', port: 80 });
  });
  test.each<[string, () => void]>([
    ['writable by others', () => chmodSync(web(), 0o646)],
    ['writable by its group', () => chmodSync(web(), 0o664)],
    [
      'a link',
      () => {
        renameSync(web(), join(world.folder, 'real.json'));
        symlinkSync(join(world.folder, 'real.json'), web());
      },
    ],
    [
      'a folder',
      () => {
        rmSync(web());
        mkdirSync(web());
      },
    ],
    ['too large', () => writeFileSync(web(), ' '.repeat(16 * 1024 + 1))],
    ...(isRoot
      ? ([['of another user', () => chownSync(web(), 12_345, 12_345)]] as [string, () => void][])
      : []),
  ])('%s', (_, spoil) => {
    spoil();
    expect(read()).toEqual([expect.stringMatching(/^web: ./)]);
  });
});

describe('a folder that somebody else could change holds no probes, and says so', () => {
  beforeEach(() => {
    world.probe('web', { kind: 'tcp', port: 80 });
  });
  test.each<[string, () => void]>([
    ['writable by others', () => chmodSync(folder(), 0o777)],
    ['sticky and writable by others', () => chmodSync(folder(), 0o1777)],
    ['in a folder that is writable by others', () => chmodSync(world.folder, 0o777)],
    [
      'removed from a folder that is writable by others',
      () => {
        rmSync(folder(), { recursive: true });
        chmodSync(world.folder, 0o777);
      },
    ],
    [
      'a link into a folder that is writable by others',
      () => {
        const open = join(world.folder, 'open');
        mkdirSync(open);
        chmodSync(open, 0o777);
        renameSync(folder(), join(open, 'probes.d'));
        symlinkSync(join(open, 'probes.d'), folder());
      },
    ],
    ['with a name that no probe may have', () => linkSync(web(), join(folder(), 'Web Site.json'))],
    [
      'with more files than are run',
      () => {
        for (let n = 0; n < 50; n++) world.probe(`p${n}`, { kind: 'tcp', port: 80 });
      },
    ],
    ...(isRoot
      ? ([['of another user', () => chownSync(folder(), 12_345, 12_345)]] as [string, () => void][])
      : []),
  ])('%s', (_, spoil) => {
    spoil();
    expect(read()).toEqual(expect.any(String));
  });
});

test.each<[string, object]>([
  ['no kind', {}],
  ['a kind that does not exist', { kind: 'ping' }],
  ['a member of another kind', { kind: 'tcp', port: 80, url: 'http://x' }],
  ['another version', { v: 2, kind: 'tcp', port: 80 }],
  ['a unit that is an option', { kind: 'unit', unit: '--all' }],
  ['a relative program', { kind: 'program', program: 'true' }],
  ['a url of another scheme', { kind: 'http', url: 'file:///etc/passwd' }],
  ['more time than there is', { kind: 'tcp', port: 80, timeout_seconds: 61 }],
])('%s cannot be used', (_, content) => {
  world.probe('web', content);
  expect(read()).toEqual([expect.stringMatching(/^web: ./)]);
});

test('the fault is about the kind that the file names', () => {
  world.probe('db', { kind: 'tcp' });
  world.probe('web', { kind: 'http', url: 'http://127.0.0.1/', body: 'ok' });
  expect(read()).toEqual(['db: / must have required properties port', 'web: /body is no member here']);
});
