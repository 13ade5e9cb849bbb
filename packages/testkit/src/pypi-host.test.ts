import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPypiHost, pypiHostMissing } from './pypi-host.ts';
import { type PypiIndex, startPypiIndex } from './pypi-index.ts';
import { PYPI_DEMO, type PypiPackage } from './pypi-packages.ts';
import { runTool } from './run-tool.ts';
import { tmpDir } from './tmp.ts';

const missing = pypiHostMissing();
if (missing !== null) console.log(`skipped: a throw-away Python environment: ${missing}`);

const MORE: PypiPackage[] = [
  { name: 'demo-app', version: '2.1', yanked: true },
  { name: 'demo-app', version: '3.0rc1' },
  { name: 'demo-app', version: '4.0', requiresPython: '>=99' },
  { name: 'with-extra', version: '1.0', extras: ['more'], requires: ['demo-lib; extra == "more"'] },
  { name: 'source-only', version: '1.0', kind: 'sdist' },
];

describe.skipIf(missing !== null)('a throw-away Python environment and its index', () => {
  const dir = tmpDir('tidegate-pypi-');
  let index: PypiIndex;
  beforeAll(async () => {
    index = await startPypiIndex([...PYPI_DEMO.old, ...PYPI_DEMO.offered, ...MORE]);
  });
  afterAll(async () => {
    await index.stop();
    dir.remove();
  });

  /** What the machine's own pip makes of the index. */
  const pip = (...args: string[]) =>
    runTool('/usr/bin/python3', ['-m', 'pip', ...args], {
      cwd: dir.path,
      env: { HOME: dir.path, PIP_CONFIG_FILE: '/dev/null', PIP_INDEX_URL: index.url, PIP_NO_CACHE_DIR: '1' },
    });
  const download = (...args: string[]) => pip('download', '-q', '-d', join(dir.path, 'got'), ...args);

  test('an environment has the old versions installed, without network and without a pip', async () => {
    const host = await createPypiHost(join(dir.path, 'env'), { installed: PYPI_DEMO.old });
    expect(await host.installed()).toEqual({ 'demo-app': '1.0', 'demo-lib': '1.0' });
    const said = await runTool(host.python, ['-c', 'import demo_app; print(demo_app.VERSION)']);
    expect(said).toBe('1.0\n');
  });

  test.each(['up', 'html'] as const)('pip finds the newest good version in a page (%s)', async (mode) => {
    index.mode = mode;
    await download('--only-binary=:all:', 'demo-app', 'with-extra[more]');
    index.mode = 'up';
    const names = ['demo_app-2.0', 'demo_lib-1.1', 'with_extra-1.0'];
    for (const name of names)
      expect(existsSync(join(dir.path, 'got', `${name}-py3-none-any.whl`))).toBe(true);
    expect(existsSync(join(dir.path, 'got', 'demo_app-2.1-py3-none-any.whl'))).toBe(false);
  });

  test('a source distribution alone is no wheel', async () => {
    await expect(download('--only-binary=:all:', 'source-only')).rejects.toThrow(/No matching distribution/);
  });

  test('one byte changed is found by pip, at the same size', async () => {
    const before = index.bytesOf('demo_lib-1.1-py3-none-any.whl');
    index.tamper('demo_lib-1.1-py3-none-any.whl');
    expect(index.bytesOf('demo_lib-1.1-py3-none-any.whl')).toHaveLength(before.length);
    const elsewhere = ['--no-deps', '-d', join(dir.path, 'tampered')];
    await expect(download(...elsewhere, 'demo-lib==1.1')).rejects.toThrow(/DO NOT MATCH THE HASHES/);
    index.publish(...PYPI_DEMO.offered);
    const hash = createHash('sha256').update(before).digest('hex');
    const requirements = join(dir.path, 'requirements.txt');
    writeFileSync(requirements, `demo-lib==1.1 --hash=sha256:${hash}\n`);
    await download(...elsewhere, '--require-hashes', '-r', requirements);
    expect(existsSync(join(dir.path, 'tampered', 'demo_lib-1.1-py3-none-any.whl'))).toBe(true);
  });

  test.each(['down', 'failing', 'garbage', 'not-found'] as const)(
    'an index that is %s gives nothing',
    async (mode) => {
      index.mode = mode;
      await expect(download('--retries=0', 'demo-lib')).rejects.toThrow();
      index.mode = 'up';
    },
  );
});
