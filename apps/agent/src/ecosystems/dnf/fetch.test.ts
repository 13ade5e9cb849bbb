import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { FETCH_MAX_BYTES } from '../downloads.ts';
import { USUAL_PLACES } from '../host-places.ts';
import { fetchActions } from './fetch.ts';

const action = { action: 'upgrade' as const, name: 'demo', arch: 'noarch', to_version: '1:1.1-1' };
const artifact = {
  ...{ filename: 'demo-1.1-1.noarch.rpm', url: 'http://a/x', size_bytes: 1, sha256: 'ab'.repeat(32) },
};

test.each([
  ['a file name that is not the package', { filename: 'other-1.1-1.noarch.rpm' }],
  ['a file name that leads elsewhere', { filename: '../demo-1.1-1.noarch.rpm' }],
  ['no SHA-256', { sha256: '' }],
])('an artifact with %s is refused before anything runs', async (_, change) => {
  const actions = [{ ...action, artifact: { ...artifact, ...change } }];
  const outcome = await fetchActions(USUAL_PLACES, { actions, directory: '/nowhere' });
  expect(outcome).toEqual({ ok: false, reason: 'artifact_mismatch: demo' });
});

test('a plan that is larger than the limit is refused before anything runs', async () => {
  using dir = tmpDir('tidegate-fetch-');
  const actions = [{ ...action, artifact: { ...artifact, size_bytes: FETCH_MAX_BYTES + 1 } }];
  const outcome = await fetchActions(USUAL_PLACES, { actions, directory: dir.path });
  expect(!outcome.ok && outcome.reason).toContain(`more than ${FETCH_MAX_BYTES}`);
});

test('a plan that only removes needs no file', async () => {
  const actions = [{ action: 'remove' as const, name: 'demo', arch: 'noarch', from_version: '0:1-1' }];
  expect(await fetchActions(USUAL_PLACES, { actions, directory: '/nowhere' })).toEqual({ ok: true });
});
