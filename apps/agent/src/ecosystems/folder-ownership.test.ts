import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { withAptSession } from './apt/session.ts';
import { withDnfSession } from './dnf/session.ts';
import { reclaimFolder, removeAsUser, transferFolder } from './folder-ownership.ts';
import { hostPaths } from './host-places.ts';
import { withNpmSession } from './npm/session.ts';
import { withShadow } from './pypi/shadow.ts';

const NOBODY = { uid: 65_534, gid: 65_534 };
const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.log('skipped: folders in which root lets another user work: needs root');

describe.skipIf(!isRoot)('a folder in which root lets another user work', () => {
  let dir: ReturnType<typeof tmpDir>;
  let before: string | undefined;
  beforeEach(() => {
    dir = tmpDir();
    chmodSync(dir.path, 0o1777); // as /tmp is
    before = process.env.TMPDIR;
    process.env.TMPDIR = dir.path;
  });
  afterEach(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    dir.remove();
  });

  const dnf = { flavour: 'dnf4' as const, python: '/usr/bin/python3', root: '/', database: '/var/lib/rpm' };
  const interpreter = {
    python: '/usr/bin/python3',
    pip: '/usr/lib/python3/dist-packages/pip',
    pipVersion: '23.0',
  };
  const look = async () => {
    const [name = ''] = readdirSync(dir.path);
    const outer = join(dir.path, name);
    const inner = readdirSync(outer).map((each) => lstatSync(join(outer, each)).uid);
    // A link that the other user puts at its path is not followed when the session closes.
    const given = readdirSync(outer).find((each) => lstatSync(join(outer, each)).uid === NOBODY.uid) ?? '';
    symlinkSync('/etc', join(outer, given, 'etc'));
    return { outer: lstatSync(outer).uid, isGiven: inner.includes(NOBODY.uid) };
  };
  const options = { identity: NOBODY };

  test.each<[string, () => Promise<unknown>]>([
    ['apt', () => withAptSession(hostPaths({}), look, options)],
    ['npm', () => withNpmSession(hostPaths({}), look, options)],
    ['dnf', () => withDnfSession(dnf, NOBODY, look)],
    ['pip', () => withShadow({ interpreter, distributions: [], identity: NOBODY }, look)],
  ])('%s: its parent belongs to root, so nobody can replace it; everything is removed', async (_, open) => {
    expect(await open()).toEqual({ outer: 0, isGiven: true });
    expect(readdirSync(dir.path)).toEqual([]);
    expect(readdirSync('/etc')).toContain('passwd');
  });

  test('is reclaimed except for hard links, which keep their owner', async () => {
    const at = (name: string) => join(dir.path, name);
    mkdirSync(at('work'));
    writeFileSync(at('of-another'), 'x');
    chownSync(at('of-another'), 1_234, 1_234);
    await transferFolder(at('work'), NOBODY);
    linkSync(at('of-another'), at('work/planted'));
    symlinkSync(at('of-another'), at('work/link'));
    writeFileSync(at('work/own'), 'x');
    chownSync(at('work/own'), NOBODY.uid, NOBODY.gid);
    await reclaimFolder(at('work'));
    const owner = (name: string) => lstatSync(at(name)).uid;
    expect([owner('work'), owner('work/own'), owner('of-another')]).toEqual([0, 0, 1_234]);
    await removeAsUser(null, [at('work')]);
    expect([readdirSync(dir.path), owner('of-another')]).toEqual([['of-another'], 1_234]);
  });
});
