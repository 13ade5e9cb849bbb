import { startConnectProxy } from '@tidegate/testkit/connect-proxy';
import { npmHostMissing } from '@tidegate/testkit/npm-host';
import { pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hostPaths } from './host-places.ts';
import { withNpmSession } from './npm/session.ts';
import { PIP_OPTIONS, withShadow } from './pypi/shadow.ts';

const [npm, pypi] = [npmHostMissing(), pypiHostMissing()];
if (npm !== null) console.log(`skipped: npm behind a proxy: ${npm}`);
if (pypi !== null) console.log(`skipped: pip behind a proxy: ${pypi}`);
/** Debian's own. */
const interpreter = {
  ...{ python: '/usr/bin/python3', pip: '/usr/lib/python3/dist-packages/pip', pipVersion: '23.0' },
};
const NAMES = ['HTTP_PROXY', 'http_proxy', 'NO_PROXY', 'no_proxy'];
const before = NAMES.map((name) => [name, process.env[name]] as const);
let proxy: Awaited<ReturnType<typeof startConnectProxy>>;

beforeEach(async () => {
  proxy = await startConnectProxy({ hosts: {}, credentials: 'user:pass' });
  for (const name of NAMES) delete process.env[name];
  process.env.HTTP_PROXY = `http://user:pass@${proxy.authority}`;
});
afterEach(async () => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await proxy.stop();
});

test.skipIf(npm !== null)('npm asks its registry through the proxy', async () => {
  using folder = tmpDir();
  const viewed = await withNpmSession(hostPaths({ npm_registry: 'http://registry.test/' }), (session) =>
    session.run(['view', 'demo', '--fetch-retries=0'], { cwd: folder.path }),
  );
  expect(viewed.ok).toBe(false);
  expect(proxy.seen[0]).toMatchObject({ target: expect.stringContaining('registry.test') });
  expect(proxy.seen[0]?.authorization).toBe(`Basic ${Buffer.from('user:pass').toString('base64')}`);
});

test.skipIf(pypi !== null)('pip asks its index through the proxy', async () => {
  await withShadow({ interpreter, distributions: [], identity: null }, async (shadow) => {
    const args = [
      'download',
      ...PIP_OPTIONS,
      '--no-deps',
      '--index-url',
      'http://index.test/simple',
      '--retries=0',
    ];
    await shadow.run([...args, '--trusted-host', 'index.test', 'demo']);
  });
  expect(proxy.seen[0]).toMatchObject({ target: expect.stringContaining('index.test') });
});
