import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createPypiHost, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findPlaces } from '../apps/agent/src/ecosystems/pypi/places.ts';
import { planTarget } from '../apps/agent/src/ecosystems/pypi/plan.ts';
import { openPlanner } from '../apps/agent/src/ecosystems/pypi/pypi.ts';
import { scanPypi } from '../apps/agent/src/ecosystems/pypi/scan.ts';
import { hostPaths } from '../apps/agent/src/host-places.ts';

const run = promisify(execFile);
const PIP = ['-m', 'pip', '--disable-pip-version-check'];
const PROBE_MAX_MS = 30_000;

const missing = pypiHostMissing() ?? (await findWhyUnreachable());
if (missing !== null) console.log(`left out: a plan from the real index: ${missing}`);

/** The public registry is not ours: where it cannot be reached this says nothing of our work, and is left out with a line. */
describe.runIf(missing === null)('the index that pip is configured with here', () => {
  test('gives a real plan of a small package, with the hash and size that it names itself', async () => {
    const dir = tmpDir('tidegate-pypi-public-');
    onTestFinished(() => dir.remove());
    await chmod(dir.path, 0o755);
    const host = await createPypiHost(join(dir.path, 'env'), {
      installed: [{ name: 'idna', version: '2.0' }],
    });
    const paths = hostPaths({ pypi_environments: [host.path], pypi_index: await configuredIndex() });
    const found = await findPlaces(paths, { environments: [], userFolders: [], faults: [], unseen: [] });
    const scan = await scanPypi(paths, found);
    expect(scan).toMatchObject({ complete: true, updates: [{ name: 'idna', current_version: '2.0' }] });
    const [update] = scan.updates;
    const target = { name: 'idna', arch: host.path, toVersion: update?.available_version ?? '' };
    const outcome = await planTarget(await openPlanner(paths, found), target, new Date());
    expect(outcome).toMatchObject({ ok: true });
    const [action] = outcome.ok ? outcome.plan.actions : [];
    expect(action?.artifact?.filename).toMatch(/^idna-.*\.whl$/);
    expect(action?.artifact?.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(action?.artifact?.size_bytes).toBeGreaterThan(10_000);
  });
});

/** Why the index gives nothing: asked through pip itself, and then as the agent does. */
async function findWhyUnreachable(): Promise<string | null> {
  const timeout = { timeout: PROBE_MAX_MS };
  const asked = await run(
    '/usr/bin/python3',
    [...PIP, 'index', 'versions', '--retries=0', 'idna'],
    timeout,
  ).then(
    () => null,
    () => 'pip cannot ask it for versions',
  );
  if (asked !== null) return asked;
  return fetch(`${await configuredIndex()}/idna/`, { signal: AbortSignal.timeout(PROBE_MAX_MS) }).then(
    (response) => (response.ok ? null : `it answers ${response.status} to the agent`),
    () => 'the agent cannot reach it',
  );
}

async function configuredIndex(): Promise<string> {
  const { stdout } = await run('/usr/bin/python3', [...PIP, 'config', 'list']);
  const [, url = 'https://pypi.org/simple'] = /index-url='([^']+)'/.exec(stdout) ?? [];
  return url.replace(/\/+$/, '');
}
