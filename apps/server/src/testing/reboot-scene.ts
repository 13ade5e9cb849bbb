import type { CommandResult } from '@tidegate/protocol/agent-api';
import { CommandPayload, Envelope } from '@tidegate/protocol/documents';
import type { ProbeState } from '@tidegate/protocol/probes';
import type { RestartReport } from '@tidegate/protocol/restarts';
import { Value } from 'typebox/value';
import { saveRestarts } from '../agents/restarts-store.ts';
import { mountBlackouts } from '../blackouts/routes.ts';
import { deliverCommands } from '../commands/deliver-commands.ts';
import { recordResult } from '../commands/record-result.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Listening } from '../platform/listening.ts';
import type { Platform } from '../platform/platform.ts';
import { recordProbes } from '../probes/record-probes.ts';
import { mountReboots } from '../reboots/routes.ts';
import { INTERVAL_MS, runRebootsOnce } from '../reboots/run-reboots.ts';
import { insertTestAgent } from './agent-rows.ts';
import type { TestEngine } from './engines.ts';
import { LISTENS } from './listens.ts';
import { createSliceApp, createTestKeyRing } from './slice-app.ts';
import { REBOOT_ASK } from './standing.ts';
import { createTestPlatform } from './test-platform.ts';

/** The queue of reboots on a real database, with hosts that say what a test has them say. */
export async function createRebootScene(engine: TestEngine) {
  const database = await engine.open();
  const platform = createTestPlatform(database);
  return rebootScene(database, platform);
}

type World = ReturnType<typeof createTestPlatform>;

export function rebootScene(database: Database, platform: World) {
  const keyRing = createTestKeyRing();
  const app = createSliceApp(platform);
  mountReboots(app.routes, platform);
  mountBlackouts(app.routes, platform);

  async function call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object) {
    const answer = await app.inject({ method, url, ...(payload && { payload }) });
    return { status: answer.statusCode, body: answer.body === '' ? null : answer.json() };
  }

  /** A host of a group that has checked in, whose probes are green, and that reports this need. */
  async function host(n: number, { group = 'web', need = 'needed' as RestartReport['reboot']['need'] } = {}) {
    const { agentId } = await insertTestAgent(database, { n, group });
    const one = rebootHost({ database, platform, keyRing, agentId, machineId: `machine-${n}` });
    await one.boot('boot-1');
    await one.probes('green');
    await one.needs(need);
    return one;
  }

  const events = async (type: string) => {
    const rows = await database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
    return rows.map((row) => ({ ...JSON.parse(row.content), severity: row.severity, actor: row.actor }));
  };
  const open = async () =>
    database.read.selectFrom('reboot_slots').selectAll().where('ended_at', 'is', null).execute();
  return {
    ...{ database, platform, keyRing, app, call, host, events, open },
    turn: (listening = LISTENS) => runRebootsOnce(platform, listening),
    /** Turns as often as a server makes them, for so long. */
    async turns(listening: Listening, ms: number) {
      for (let leftMs = ms; leftMs > 0; leftMs -= INTERVAL_MS) {
        platform.clock.advance(Math.min(leftMs, INTERVAL_MS));
        await runRebootsOnce(platform, listening);
      }
    },
    ask: (change: object = {}) => call('POST', '/api/v1/reboots', { ...REBOOT_ASK, ...change }),
    states: async () => {
      const { body } = await call('GET', '/api/v1/reboots?limit=200');
      return body.items
        .map((item: { hostname: string; state: string }) => `${item.hostname} ${item.state}`)
        .toSorted();
    },
  };
}

export type RebootScene = Awaited<ReturnType<typeof createRebootScene>>;
export type SceneHost = Awaited<ReturnType<RebootScene['host']>>;

function rebootHost(means: {
  database: Database;
  platform: Pick<Platform, 'database' | 'newId' | 'now'>;
  keyRing: ReturnType<typeof createTestKeyRing>;
  agentId: string;
  machineId: string;
}) {
  const { database, platform, keyRing, agentId, machineId } = means;
  let boot = 'boot-1';
  const seen = () =>
    database.transact(async (tx) => {
      const row = { agent_id: agentId, last_seen_at: platform.now() };
      await tx
        .insertInto('agent_presence')
        .values(row)
        .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(row))
        .execute();
    });
  return {
    agentId,
    seen,
    /** The host has started with this boot id, and checks in at once. */
    async boot(bootId: string) {
      boot = bootId;
      await database.transact((tx) =>
        tx
          .updateTable('agents')
          .set({ boot_id: bootId, uptime_seconds: 0 })
          .where('id', '=', agentId)
          .execute(),
      );
      await seen();
    },
    probes: (state: ProbeState) =>
      database.transact((tx) =>
        recordProbes(tx, platform, {
          agentId,
          report: { at: new Date(platform.now()).toISOString(), probes: [{ name: 'web', state }] },
        }),
      ),
    needs: (need: RestartReport['reboot']['need'], stale: RestartReport['services']['stale'] = []) =>
      database.transact((tx) =>
        saveRestarts(tx, {
          agentId,
          nowMs: platform.now(),
          report: {
            observed_at: new Date(platform.now()).toISOString(),
            boot_id: boot,
            services: { need: stale.length > 0 ? 'needed' : 'not_needed', stale, more_services: 0 },
            reboot: { need, evidence: [], packages: [], livepatch: 'inactive' },
          },
        }),
      ),
    /** Checks in, and returns the commands that it gets. */
    async fetch(received: readonly string[] = []) {
      await seen();
      const texts = await database.transact((tx) =>
        deliverCommands(tx, platform, keyRing, { agentId, machineId, received }),
      );
      return texts.map((text) => {
        const { payload } = Value.Parse(Envelope, JSON.parse(text));
        return Value.Parse(CommandPayload, JSON.parse(Buffer.from(payload, 'base64').toString()));
      });
    },
    says: (commandId: string, result: CommandResult) =>
      database.transact((tx) => recordResult(tx, platform, { agentId, commandId, result })),
  };
}
