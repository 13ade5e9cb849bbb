import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { loadConfig, saveConfig } from './identity/config-file.ts';
import { writeSupport } from './support.ts';
import { configOf } from './testing/agent-config.ts';
import { createFleet } from './testing/fleet.ts';

const SECRETS = {
  access: 'access-token-that-is-secret',
  refresh: 'refresh-token-that-is-secret',
  registration: 'registration-that-is-secret',
  machine: 'machine-id-that-is-not-for-others',
  proxy: 'proxy-password-1234',
};

test('a bundle has the enrolment without a token, machine id or password, wherever one stands', () => {
  using folder = tmpDir();
  const file = (name: string) => join(folder.path, name);
  writeFileSync(file('machine'), SECRETS.machine);
  const config = configOf(createFleet(Date.now()), {
    ...{ access_token: SECRETS.access, refresh_token: SECRETS.refresh, server_url: 'https://tidegate.test' },
    machine_id_source: `file:${file('machine')}`,
  });
  saveConfig(folder.path, config);
  expect(loadConfig(folder.path).ok).toBe(true);
  const HTTPS_PROXY = `http://user:${SECRETS.proxy}@proxy.test`;
  writeFileSync(file('log'), [...Object.values(SECRETS), HTTPS_PROXY, 'a line that stays'].join('\n'));
  const findings = [{ check: 'x', ok: false, detail: `through ${HTTPS_PROXY} with ${SECRETS.access}` }];
  const options = { folder: folder.path, findings, nowMs: Date.now(), log: file('log') };
  const env = { TIDEGATE_TOKEN: SECRETS.registration, HTTPS_PROXY };
  const written = writeSupport({ ...options, out: file('b'), env });
  expect(written).toMatchObject({ ok: true });
  const inside = gunzipSync(readFileSync(file('b'))).toString();
  for (const part of ['a line that stays', config.agent_id, 'https://tidegate.test'])
    expect(inside).toContain(part);
  for (const [what, secret] of Object.entries(SECRETS)) {
    if (what !== 'proxy') expect([what, inside.includes(secret)]).toEqual([what, false]);
  }
  // In a log of its own line a password has no form; in a URL it does.
  expect(inside.split(SECRETS.proxy)).toHaveLength(2);
  expect(writeSupport({ ...options, out: file('b'), env })).toMatchObject({ ok: false });
});

test('a host that is not enrolled gets one, too', () => {
  using folder = tmpDir();
  const options = { folder: join(folder.path, 'none'), findings: [], nowMs: 0, log: null, env: {} };
  const written = writeSupport({ ...options, out: join(folder.path, 'b') });
  expect(written.ok && written.manifest.files.map(({ name }) => name)).toEqual([
    'platform.json',
    'doctor.json',
  ]);
});
