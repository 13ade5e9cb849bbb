import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { actionOf } from './approvals-app.ts';
import { type CliPlace, createServedPlace } from './cli-place.ts';
import type { TestEngine } from './engines.ts';

const PASSWORD = 'correct horse battery';
const MINUTE_MS = 60_000;
const DAY_MS = 1_440 * MINUTE_MS;

type Sent = { token?: string; body?: object; machine?: string };

/** A running server with two hosts in two groups, and some days of their life; what the bundle of `lab` then tells. */
export async function createEvidenceScene(engine: TestEngine) {
  const place: CliPlace = await createServedPlace(engine);
  const { clock } = place;
  const added = await place.run(['operators', 'add', 'ada', '--role', 'admin'], { stdin: `${PASSWORD}\n` });
  expect(added).toMatchObject({ code: 0 });
  const { url, stop } = await place.start();
  const at = () => new Date(clock.now()).toISOString().replace(/\.\d+/, '');

  async function send(method: string, path: string, { token, body, machine = 'machine-1' }: Sent = {}) {
    return fetch(url + path, {
      method,
      headers: {
        'x-machine-id': machine,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
  }
  async function call(method: string, path: string, sent: Sent = {}) {
    const answer = await send(method, path, sent);
    const text = await answer.text();
    expect([answer.ok, text]).toEqual([true, text]);
    return text === '' ? null : JSON.parse(text);
  }
  async function login(username = 'ada', password = PASSWORD): Promise<string> {
    return (await call('POST', '/api/v1/auth/login', { body: { username, password } })).token;
  }

  const token = await login();
  const os = { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' };

  async function enrol(hostname: string, group: string, machine: string) {
    const made = await call('POST', '/api/v1/admin/registration-tokens', { token, body: { label: 'x' } });
    const body = { hostname, os, agent_version: '1.0.0' };
    const agent = await call('POST', '/api/v1/agents/register', { token: made.token, body, machine });
    const id: string = agent.agent_id;
    await call('PATCH', `/api/v1/agents/${id}`, { token, body: { group } });
    const own = { token: agent.access_token, machine };
    const path = `/api/v1/agents/${id}`;
    return {
      id,
      async report(ecosystem: string, names: readonly string[]): Promise<string[]> {
        const updates = names.map((name) => ({
          ...{ name, current_version: '1.0.0', available_version: '1.1.0' },
          plan: { resolved_at: at(), actions: [planOf(name, ecosystem)] },
        }));
        const packages = names.map((name) => ({ name, version: '1.0.0' }));
        const body = { scanned_at: at(), complete: true, packages, updates };
        const answer = await call('PUT', `${path}/inventory/${ecosystem}`, { ...own, body });
        return answer.updates.map((update: { update_id: string }) => update.update_id);
      },
      async install(): Promise<void> {
        const facts = {
          ...{ agent_version: '1.0.0', boot_id: 'boot', uptime_seconds: 1, received: [] },
          inventory_digest: {},
          ...{ key_set_version: 1 },
        };
        const { commands } = await call('POST', `${path}/check-in`, { ...own, body: facts });
        for (const command of commands) {
          const payload = JSON.parse(Buffer.from(command.payload, 'base64').toString());
          const body = {
            status: 'success',
            installed: [{ name: 'left', version: '1.1.0' }],
            output_tail: 'PASSWORD',
          };
          await call('POST', `${path}/commands/${payload.command_id}/result`, { ...own, body });
        }
      },
    };
  }

  const sinceMs = clock.now();
  const lab = await enrol('host-1', 'lab', 'machine-1');
  const other = await enrol('host-2', 'office', 'machine-2');
  const [left = '', right = ''] = await lab.report('npm', ['left', 'right']);
  await other.report('npm', ['left']);
  const [system = ''] = await lab.report('apt', ['libc6']);
  clock.advance(2 * MINUTE_MS);
  // One act for both hosts.
  const together = await call('POST', '/api/v1/updates/approve', {
    token,
    body: { filter: { name: 'left', open: 'true' }, confirm_count: 2 },
  });
  expect(together.approved).toHaveLength(2);
  // Without a source of advisories the closure of apt is unchecked (A2): a person overrides it.
  expect((await send('POST', `/api/v1/updates/${system}/approve`, { token })).ok).toBe(false);
  const reason = 'reviewed by hand <b>& signed</b>';
  await call('POST', `/api/v1/updates/${system}/approve`, {
    token,
    body: { override_supply_chain: true, override_reason: reason },
  });
  await lab.install();
  await other.install();
  const ends_at = new Date(clock.now() + 30 * DAY_MS).toISOString();
  await call('POST', '/api/v1/holds', {
    token,
    body: {
      ...{ ecosystems: ['npm'], packages: ['right'], scope: { kind: 'all' } },
      ...{ reason: 'breaks the build', ends_at },
    },
  });
  expect((await send('POST', `/api/v1/updates/${right}/approve`, { token })).ok).toBe(false);
  await call('POST', '/api/v1/admin/vex-statements', {
    token,
    body: {
      ...{ vulnerability: 'CVE-2026-1', ecosystem: 'npm', package: 'left', distribution: null },
      ...{ versions: ['1.1.0'], scope: { kind: 'all' }, status: 'not_affected' },
      ...{ justification: 'vulnerable_code_not_present', text: 'the part is not shipped', ends_at },
    },
  });
  const keys = join(place.dataDir, 'public-keys.json');
  writeFileSync(keys, JSON.stringify(await call('GET', '/api/v1/public-keys')));
  clock.advance(DAY_MS);
  return {
    // Stop it before a command that writes: two connections of one thread could wait for each other.
    ...{ ...place, stop, send, call, login, token, keys, reason, lab, other, left, right, system, sinceMs },
    since: new Date(sinceMs).toISOString(),
    file: (name: string) => join(place.dataDir, name),
  };
}

function planOf(name: string, ecosystem: string) {
  return actionOf({ name, version: '1.1.0', ecosystem: ecosystem === 'apt' ? 'apt' : 'npm' });
}
