import { describe, expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { changeInstalled } from '../testing/installed-rows.ts';
import { comparedFacts, comparedPackages } from './compared-store.ts';
import { installedKey, ofInstalledKey } from './identity.ts';
import type { PackageRecord } from './store.ts';

function packageOf(name: string, fields: Partial<PackageRecord> = {}): PackageRecord {
  const nothing = { source_name: null, source_version: null, origin: null };
  return { name, arch: 'amd64', version: '1', held: 0, ...nothing, ...fields };
}

/** All of the same name and version, so that only the facts tell them apart. */
const FACTS: Partial<PackageRecord>[] = [
  {},
  { held: 1 },
  { source_name: 'a', source_version: 'bc' },
  { source_name: 'ab', source_version: 'c' },
  { source_name: 'ab', source_version: null, origin: 'c' },
  { source_name: null, source_version: 'abc' },
  { source_name: null, source_version: null, origin: 'abc' },
  { source_name: 'a\n:1:', source_version: '0:2:3:', origin: ':\n' },
  { source_name: 'ünï😀', source_version: '😀', origin: '"\\ \u0001' },
];

test('different facts have different texts, and a key gives back what it was made of', () => {
  const texts = FACTS.map((facts) => comparedFacts(packageOf('curl', facts)));
  expect(new Set(texts).size).toBe(FACTS.length);
  for (const arch of ['', 'amd64', '/srv/a\nb\n']) {
    const one = { name: 'libc++ ü', arch, version: '1:2.0~rc1-3' };
    expect(ofInstalledKey(installedKey(one))).toEqual(one);
  }
});

describe.each(ENGINES)('what whole reports are compared with on $name', (engine) => {
  test('is what a report with the same packages says, whatever its texts are', async () => {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const put = FACTS.map((facts, i) =>
      packageOf(`package-${i} 😀`, { arch: i % 2 ? '' : 'a\nb', ...facts }),
    );
    await database.transact(async (tx) => {
      await changeInstalled(tx, { agentId, ecosystem: 'npm', nowMs: 1 }, { put });
      await changeInstalled(tx, { agentId, ecosystem: 'apt', nowMs: 1 }, { put: [packageOf('other')] });
    });
    const pages = await Array.fromAsync(comparedPackages(database.read, { agentId, ecosystem: 'npm' }));
    const found = new Map(pages.flat().map(({ key, facts }) => [key, facts]));
    expect(found).toEqual(new Map(put.map((one) => [installedKey(one), comparedFacts(one)])));
  });

  test('comes page by page, each package once', async () => {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const names = Array.from({ length: 2_000 }, (_, n) => `package-${n}`);
    const put = (some: PackageRecord[]) =>
      database.transact((tx) => changeInstalled(tx, { agentId, ecosystem: 'apt', nowMs: 1 }, { put: some }));
    const sizes = async () => {
      const pages = await Array.fromAsync(comparedPackages(database.read, { agentId, ecosystem: 'apt' }));
      expect(new Set(pages.flat().map(({ key }) => key)).size).toBe(pages.flat().length);
      return pages.map(({ length }) => length);
    };
    expect(await sizes()).toEqual([]);
    await put(names.map((name) => packageOf(name)));
    expect(await sizes()).toEqual([2_000]);
    await put([packageOf('package-7', { version: '2' }), packageOf('package-8', { version: '2' })]);
    expect(await sizes()).toEqual([2_000, 2]);
  });
});
