import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openPostgres } from '../platform/db/postgres.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';
import { copyDatabase, createHousehold, enrolHost, type LivingServer } from '../testing/restored-server.ts';
import { EPOCH_FILE, readEpochFile } from './epoch-file.ts';

const [sqlite] = ENGINES;
if (!sqlite) throw new Error('SQLite is always there');
const onSqlite = sqlite;
const postgres = ENGINES.filter(({ name }) => name === 'postgres');

function epochIn(dataDir: string): number | undefined {
  const read = readEpochFile(dataDir);
  return read.ok ? read.file?.epoch : undefined;
}

async function restoresOf(
  server: LivingServer,
): Promise<{ sign: string; epoch: number; events_lost: number }[]> {
  const token = await server.admin();
  const { body } = await server.call('GET', '/api/v1/events?type=RESTORE_DETECTED', { token });
  return body.items.map((event: { content: object; severity: string }) => {
    expect(event.severity).toBe('critical');
    return event.content;
  });
}

async function stateOf(server: LivingServer) {
  return (await server.call('GET', '/api/v1/admin/resync', { token: await server.admin() })).body;
}

describe.each(ENGINES)('T20: the epoch of a server on $name', (engine) => {
  test('is 1 at the first start, and stays while the database continues', async () => {
    const { config, start } = await createHousehold(engine);
    for (let i = 0; i < 3; i++) {
      const server = await start();
      expect(await restoresOf(server)).toEqual([]);
      expect(await stateOf(server)).toMatchObject({ epoch: 1, restored: null, resync: null });
      await server.stop();
      expect(epochIn(config.dataDir)).toBe(1);
    }
    expect(statSync(join(config.dataDir, EPOCH_FILE)).mode & 0o777).toBe(0o600);
  });

  test('rises once if the file is missing, with a critical event and a log line', async () => {
    const { config, start, clock } = await createHousehold(engine);
    const first = await start();
    await first.stop();
    rmSync(join(config.dataDir, EPOCH_FILE));
    clock.advance(600_000);
    const second = await start();
    expect(await restoresOf(second)).toMatchObject([{ sign: 'no_epoch_file', epoch: 2 }]);
    expect(second.lines.filter((line) => line.startsWith('[ERROR] THE DATABASE WAS RESTORED'))).toHaveLength(
      1,
    );
    expect(await stateOf(second)).toMatchObject({ epoch: 2, restored: { details: { epoch: 2 } } });
    await second.stop();
    const third = await start();
    expect((await stateOf(third)).epoch).toBe(2);
    expect(await restoresOf(third)).toHaveLength(1);
  });

  test('a damaged file refuses the start with a line that says what to do', async () => {
    const { config, start } = await createHousehold(engine);
    await (await start()).stop();
    const path = join(config.dataDir, EPOCH_FILE);
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, -10));
    await expect(start()).rejects.toThrow(/epoch\.json is damaged.*Remove it/);
  });

  test('a data folder has one server at a time', async () => {
    const { start } = await createHousehold(engine);
    const server = await start();
    await expect(start()).rejects.toThrow(/which another server is using; allowed: /);
    await server.stop();
    await (await start()).stop();
  });
});

describe('T20: a database file that was put back by hand', () => {
  test('begins a new epoch, records how far it fell back, and repeats later revocations', async () => {
    const { config, start } = await createHousehold(onSqlite);
    const first = await start();
    const [kept, revoked, deleted] = [
      await enrolHost(first, 'machine-1'),
      await enrolHost(first, 'machine-2'),
      await enrolHost(first, 'machine-3'),
    ];
    await first.stop();
    const copy = copyDatabase(config.dataDir);

    const second = await start();
    const token = await second.admin();
    await second.call('POST', `/api/v1/agents/${revoked.agentId}/revoke`, {
      token,
      body: { reason: 'sold' },
    });
    await second.call('DELETE', `/api/v1/agents/${deleted.agentId}`, { token });
    await second.stop();
    copy.putBack();

    const third = await start();
    expect(await restoresOf(third)).toMatchObject([
      {
        sign: 'older_state',
        epoch: 2,
        previous_epoch: 1,
        events_lost: expect.any(Number),
        revoked_again: { families: 2, agents: 2, keys: 0, api_tokens: 0, operators: 0 },
      },
    ]);
    expect((await restoresOf(third))[0]?.events_lost).toBeGreaterThanOrEqual(2);
    expect(await revoked.renew(third)).toBe(401);
    expect(await deleted.renew(third)).toBe(401);
    expect(await kept.renew(third)).toBe(200);
    const checkIn = await third.call('GET', `/api/v1/agents/${deleted.agentId}`, {
      token: await third.admin(),
    });
    expect(checkIn.status).toBe(404);
    await third.stop();
    const fourth = await start();
    expect((await stateOf(fourth)).epoch).toBe(2);
    expect(await revoked.renew(fourth)).toBe(401);
  });

  test('an API token revoked since stays revoked, and the others keep working', async () => {
    const { config, start } = await createHousehold(onSqlite);
    const first = await start();
    const expires_at = '2027-11-01T00:00:00Z';
    const url = '/api/v1/admin/api-tokens';
    const make = async (label: string) => {
      const body = { label, role: 'viewer', expires_at };
      return (await first.call('POST', url, { token: await first.admin(), body })).body;
    };
    const [kept, revoked] = [await make('kept'), await make('revoked')];
    await first.stop();
    const copy = copyDatabase(config.dataDir);

    const second = await start();
    const gone = await second.call('DELETE', `${url}/${revoked.id}`, { token: await second.admin() });
    expect(gone.status).toBe(204);
    await second.stop();
    copy.putBack();

    const third = await start();
    expect(await restoresOf(third)).toMatchObject([{ revoked_again: { families: 0, api_tokens: 1 } }]);
    const status = async ({ token }: { token: string }) =>
      (await third.call('GET', '/api/v1/agents', { token })).status;
    expect([await status(kept), await status(revoked)]).toEqual([200, 401]);
  });

  test('an operator deleted since is deleted again, and cannot log in', async () => {
    const { config, start } = await createHousehold(onSqlite);
    const first = await start();
    const url = '/api/v1/admin/operators';
    const password = 'a long enough password';
    const make = async (username: string) => {
      const body = { username, password, role: 'admin' };
      return (await first.call('POST', url, { token: await first.admin(), body })).body;
    };
    const [, gone] = [await make('stays'), await make('leaves')];
    await first.stop();
    const copy = copyDatabase(config.dataDir);

    const second = await start();
    const answer = await second.call('DELETE', `${url}/${gone.id}`, { token: await second.admin() });
    expect(answer.status).toBe(204);
    await second.stop();
    copy.putBack();

    const third = await start();
    expect(await restoresOf(third)).toMatchObject([{ revoked_again: { api_tokens: 0, operators: 1 } }]);
    const logIn = async (username: string) =>
      (await third.call('POST', '/api/v1/auth/login', { body: { username, password } })).status;
    expect([await logIn('stays'), await logIn('leaves')]).toEqual([200, 401]);
  });

  test('a family that reuse had ended ends again with its reason and its critical event, once', async () => {
    const { config, start } = await createHousehold(onSqlite);
    const first = await start();
    const host = await enrolHost(first, 'machine-1');
    await first.stop();
    const copy = copyDatabase(config.dataDir);

    const second = await start();
    const stolen = host.refreshToken;
    const present = () =>
      second.call('POST', '/api/v1/agents/renew', {
        machineId: 'machine-1',
        body: { refresh_token: stolen },
      });
    expect([await host.renew(second), (await present()).status, (await present()).status]).toEqual([
      200, 200, 401,
    ]);
    await second.stop();
    copy.putBack();

    for (let i = 0; i < 2; i++) {
      const server = await start();
      const sent = { token: await server.admin() };
      const { body } = await server.call('GET', '/api/v1/events?type=REFRESH_TOKEN_REUSE', sent);
      expect(body.items).toEqual([
        expect.objectContaining({
          severity: 'critical',
          component: 'restore',
          agent_id: host.agentId,
          content: {
            family_id: expect.any(String),
            reason: 'grace_exhausted',
            act: 'journal_replayed',
            at: expect.stringMatching(/Z$/),
          },
        }),
      ]);
      expect(await host.renew(server)).toBe(401);
      await server.stop();
    }
  });

  test('a host that was enrolled again after its revocation is not revoked by every start', async () => {
    const { start, clock } = await createHousehold(onSqlite);
    const first = await start();
    const host = await enrolHost(first, 'machine-1');
    const token = await first.admin();
    await first.call('POST', `/api/v1/agents/${host.agentId}/revoke`, { token, body: {} });
    clock.advance(1_000);
    const again = await enrolHost(first, 'machine-1');
    expect(again.agentId).toBe(host.agentId);
    await first.stop();
    const second = await start();
    expect(await again.renew(second)).toBe(200);
    expect(await host.renew(second)).toBe(401);
  });

  test('R4: newer keys return with their versions, a revoked one stays revoked, and no version repeats', async () => {
    const { config, start } = await createHousehold(onSqlite);
    const first = await start();
    const host = await enrolHost(first, 'machine-1');
    await first.stop();
    const copy = copyDatabase(config.dataDir);

    const second = await start();
    const token = await second.admin();
    const keys = '/api/v1/admin/signing-keys';
    const act = (path: string) => second.call('POST', `${keys}${path}`, { token, body: {} });
    const added = await act('');
    expect(added.body.version).toBe(2);
    expect([(await act('/2/use')).status, (await act('/1/revoke')).status]).toEqual([200, 200]);
    const before = await second.call('GET', '/api/v1/public-keys');
    await second.stop();
    copy.putBack();

    const third = await start();
    const after = await third.call('GET', keys, { token: await third.admin() });
    const rows = after.body.items.map((key: { version: number; status: string; in_use: boolean }) => key);
    expect(rows).toMatchObject([
      { version: 2, key_id: added.body.key_id, status: 'active', in_use: true },
      { version: 1, status: 'revoked', in_use: false },
    ]);
    const offered = await third.call('GET', '/api/v1/public-keys');
    expect(versionOf(offered.body.key_set)).toBeGreaterThanOrEqual(versionOf(before.body.key_set));
    const next = await third.call('POST', keys, { token: await third.admin(), body: {} });
    expect(next.body.version).toBe(3);
    expect(await host.renew(third)).toBe(200);
  });

  test('if even the key sets are lost, the next version is far above what any host can have', async () => {
    const { config, start, clock } = await createHousehold(onSqlite);
    const first = await start();
    const held = versionOf((await first.call('GET', '/api/v1/public-keys')).body.key_set);
    await first.stop();
    for (const name of [EPOCH_FILE, 'key-sets.json', 'revocations.jsonl']) rmSync(join(config.dataDir, name));
    clock.advance(600_000);
    const second = await start();
    const offered = (await second.call('GET', '/api/v1/public-keys')).body.key_set;
    expect(versionOf(offered)).toBe(held + 1_001);
  });

  test('a revoked key that the restored database uses stops the start if no other is present', async () => {
    const { config, start } = await createHousehold(onSqlite);
    await (await start()).stop();
    const copy = copyDatabase(config.dataDir);
    const second = await start();
    const token = await second.admin();
    for (const path of ['', '/2/use', '/1/revoke']) {
      await second.call('POST', `/api/v1/admin/signing-keys${path}`, { token, body: {} });
    }
    await second.stop();
    copy.putBack();
    rmSync(join(config.dataDir, 'key-sets.json'));
    await expect(start()).rejects.toThrow(/signing key version 1.*was revoked after the backup/);
  });
});

describe.each(postgres)('T20: replicas on $name with data folders of their own', (engine) => {
  test('do not raise the epoch by starting, and both detect one restore once', async () => {
    const first = await createHousehold(engine, { jwtSecret: 'x'.repeat(32) });
    const { config } = first;
    const { dataDir: other } = await engine.place();
    const a = await first.start();
    const key = readKey(config.dataDir);
    const replica = { dataDir: other, signingPrivateKey: key };
    const b = await first.start(replica);
    expect((await stateOf(b)).epoch).toBe(1);
    await b.stop();
    await a.stop();
    // Both remember what the database loses now.
    const database = openPostgres(config.databaseUrl ?? '', databaseOptions());
    await database.transact((tx) => tx.updateTable('fleet_marks').set({ mark: 1 }).execute());
    await database.close();
    const epochs: number[] = [];
    for (const settings of [{}, replica, {}, replica, replica, {}]) {
      const server = await first.start(settings);
      epochs.push((await stateOf(server)).epoch);
      await server.stop();
    }
    expect(epochs).toEqual([2, 2, 2, 2, 2, 2]);
  });
});

function versionOf(keySet: { payload: string }): number {
  return JSON.parse(Buffer.from(keySet.payload, 'base64').toString()).version;
}

function readKey(dataDir: string): string {
  const [name = ''] = readdirSync(join(dataDir, 'keys'));
  return readFileSync(join(dataDir, 'keys', name), 'utf8').trim();
}
