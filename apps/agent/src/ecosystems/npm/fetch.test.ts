import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { USUAL_PLACES } from '../host-places.ts';
import { FETCH_MAX_BYTES, fetchActions } from './fetch.ts';

const url = 'https://registry.example/demo/-/demo-1.1.0.tgz';
const artifact = { filename: 'demo-1.1.0.tgz', url, size_bytes: 1, sha512: 'ab'.repeat(64) };
const action = { action: 'upgrade' as const, name: 'demo', to_version: '1.1.0', artifact };

test('a plan that is larger than the limit is refused before anything runs', async () => {
  using dir = tmpDir('tidegate-fetch-');
  const actions = [{ ...action, artifact: { ...artifact, size_bytes: FETCH_MAX_BYTES + 1 } }];
  const outcome = await fetchActions(USUAL_PLACES, { actions, directory: dir.path });
  expect(!outcome.ok && outcome.reason).toContain(`more than ${FETCH_MAX_BYTES}`);
});

test('a file shared by several packages counts once', async () => {
  using dir = tmpDir('tidegate-fetch-');
  const size_bytes = FETCH_MAX_BYTES + 1;
  const actions = ['demo', 'inner'].map((name) => ({
    ...action,
    name,
    artifact: { ...artifact, size_bytes },
  }));
  const outcome = await fetchActions(USUAL_PLACES, { actions, directory: dir.path });
  expect(!outcome.ok && outcome.reason).toContain(`would fetch ${size_bytes} bytes`);
});
