import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, describe, expect, test } from 'vitest';
import { loadConfig, openConfig, saveConfig } from '../identity/config-file.ts';
import type { FileLayer } from '../platform/file-layer.ts';
import { configOf } from '../testing/agent-config.ts';
import { failingFiles, recordingFiles } from '../testing/failing-files.ts';
import { createFleet, NOW_MS } from '../testing/fleet.ts';
import { json, problem, type Reply, type Seen, startServer } from '../testing/scripted-server.ts';
import { createRenewer } from './renew.ts';
import { createServerClient, type ServerClient } from './server-client.ts';
import { createSession } from './session.ts';

const fleet = createFleet();
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

interface Spent {
  refresh_token: string;
  request_id: string;
}

/**
 * The table of section 3 for one agent: the current token rotates, the previous one is good once more by the same
 * request id, and everything else is refused.
 */
function tokenFamily() {
  let generation = 0;
  let last: { token: string; requestId: string; uses: number } | null = null;
  const pair = () =>
    json({
      access_token: `access-${generation}`,
      expires_in: 900,
      refresh_token: `refresh-${generation}`,
      refresh_expires_at: '2027-01-01T00:00:00Z',
    });
  return ({ refresh_token: token, request_id: requestId }: Spent): Reply => {
    if (token === `refresh-${generation}`) {
      generation += 1;
      last = { token, requestId, uses: 1 };
      return pair();
    }
    if (last === null || token !== last.token || requestId !== last.requestId || last.uses > 1) {
      return problem('refresh_token_invalid');
    }
    last.uses += 1;
    return pair();
  };
}

/** An agent whose server keeps a family; `record` hears of every request as it arrives. */
async function enrolled(record: (call: string) => void = () => {}) {
  const folder = tmpDir();
  const family = tokenFamily();
  const server = await startServer(({ path, body, headers }: Seen) => {
    if (!path.endsWith('/renew')) {
      record(`request with ${String(headers.authorization).replace('Bearer ', '')}`);
      return headers.authorization === 'Bearer access-0' ? problem('access_token_expired') : json({});
    }
    record('E1');
    return family(JSON.parse(body));
  });
  stops.push(server.stop, folder.remove);
  saveConfig(folder.path, configOf(fleet));
  const client = createServerClient({ baseUrl: server.url });
  const onDisk = () => {
    const loaded = loadConfig(folder.path);
    if (!loaded.ok) throw new Error(loaded.detail);
    return loaded.config;
  };
  const start = (files?: FileLayer) => openAgent(openConfig(folder.path, onDisk(), files), client);
  const sent = () =>
    server.seen.filter(({ path }) => path.endsWith('/renew')).map(({ body }): Spent => JSON.parse(body));
  return { start, onDisk, sent };
}

function openAgent(config: ReturnType<typeof openConfig>, client: ServerClient) {
  const { machineId } = fleet;
  const elapsedMs = () => 0;
  const renewer = createRenewer({ config, client, machineId, elapsedMs });
  const clocks = { nowMs: () => NOW_MS, elapsedMs, random: () => 0 };
  return { config, renewer, session: createSession({ config, client, renewer, machineId, ...clocks }) };
}

const REQUEST = { method: 'GET', path: '/x' } as const;
/** One durable write, in the order that a power cut cannot turn around; the folder is the last of it. */
const WRITE = ['open .tmp', 'write .tmp', 'fsync .tmp', 'rename config.json', 'open DIR', 'fsync DIR'];

/** System calls that one renewal makes. */
const CALLS = await (async () => {
  const { start } = await enrolled();
  const { files, calls } = failingFiles(Number.POSITIVE_INFINITY, 'error');
  await start(files).renewer.renew();
  return calls;
})();
const FIRST_WRITE = CALLS.length / 2;

test('the request id is on disk before E1 leaves, and the successor before it is used (section 3, RT5)', async () => {
  const calls: string[] = [];
  const { start } = await enrolled((call) => calls.push(call));
  const files = recordingFiles((call) => calls.push(call.replace(/ tidegate-\S+$/, ' DIR')));
  expect(await start(files).session.call(REQUEST)).toMatchObject({ ok: true });
  expect(calls).toEqual(['request with access-0', ...WRITE, 'E1', ...WRITE, 'request with access-1']);
});

test('a renewal is two durable writes; the next tests fail each of their system calls', () => {
  expect(CALLS.filter((call) => call === 'fsync')).toHaveLength(4);
  expect(CALLS.length).toBeGreaterThanOrEqual(18);
});

describe('a renewal interrupted at any system call (RT5)', () => {
  test.each(CALLS.map((call, index) => [index + 1, call] as const))(
    'call %i (%s): the file is the old one or the new one, and the next process goes on by the same request id',
    async (at) => {
      const { start, onDisk, sent } = await enrolled();
      await start(failingFiles(at, 'kill').files).renewer.renew();
      const found = onDisk();
      expect(['access-0 refresh-0', 'access-1 refresh-1']).toContain(
        `${found.access_token} ${found.refresh_token}`,
      );
      expect(sent()).toHaveLength(at <= FIRST_WRITE ? 0 : 1);
      expect(await start().session.call(REQUEST)).toMatchObject({ ok: true });
      expect(onDisk()).toMatchObject({ refresh_token: 'refresh-1', pending_request_id: null });
      expect(new Set(sent().map(({ request_id }) => request_id)).size).toBe(1);
    },
  );
});

describe.each(['ENOSPC', 'EIO'])('a disk that says %s (RT8, RT9)', (code) => {
  const failing = CALLS.map((call, index) => [index + 1, call] as const).filter(
    ([, call]) => call !== 'unlink',
  );

  test.each(failing)(
    'at call %i (%s): a storage failure; E1 goes out only after a whole first write',
    async (at) => {
      const { start, onDisk, sent } = await enrolled();
      const agent = start(failingFiles(at, 'error', code).files);
      expect(await agent.renewer.renew()).toMatchObject({
        ok: false,
        failure: { kind: 'storage', detail: expect.stringContaining(code) },
      });
      expect(sent()).toHaveLength(at <= FIRST_WRITE ? 0 : 1);
      expect(agent.config.current()).toMatchObject({ access_token: 'access-0', refresh_token: 'refresh-0' });
      expect(JSON.stringify(await agent.renewer.renew())).not.toContain('refresh-');
      expect(await start().session.call(REQUEST)).toMatchObject({ ok: true }); // there is room again
      expect(onDisk()).toMatchObject({ refresh_token: 'refresh-1', pending_request_id: null });
    },
  );

  test('is not retried by the same process: no second write, no E1, the failure remains', async () => {
    const { start, sent } = await enrolled();
    const { files, calls } = failingFiles(CALLS.indexOf('fsync') + 1, 'error', code);
    const { session } = start(files);
    expect(await session.call(REQUEST)).toMatchObject({ ok: false, failure: { kind: 'storage' } });
    const after = calls.length;
    expect(await session.call(REQUEST)).toMatchObject({ ok: false, failure: { kind: 'storage' } });
    expect([calls.length, sent()]).toEqual([after, []]);
  });
});
