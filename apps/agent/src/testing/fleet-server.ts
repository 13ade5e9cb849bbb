import { createHash, randomUUID } from 'node:crypto';
import type { InventoryDelta, InventoryReport } from '@tidegate/protocol/agent-api';
import { KEY_SETS_PAGE } from '@tidegate/protocol/documents';
import { timestamp } from '../platform/clock.ts';
import { NOW_MS, type TestFleet } from './fleet.ts';
import { json, problem, type Reply, type ScriptedServer, startServer } from './scripted-server.ts';

/** The agent's part of a server, which does what a test sets in it. */
export interface FleetServer {
  url: string;
  stop(): Promise<void>;
  /** Commands that are delivered at each check-in until their ids are acknowledged. */
  commands: { id: string; envelope: unknown }[];
  /** Delivered at each check-in, acknowledged or not. */
  insistent: unknown[];
  state: unknown;
  /** What is asked for before an installation. */
  agentState: unknown;
  keySet: unknown;
  /** What leads from one key set to the next: the set of version 2 comes first. */
  keySets: unknown[];
  roots: unknown[];
  approvals: Map<string, unknown>;
  /** Answers in place of the usual ones; by the end of the path. */
  override: (path: string) => Reply | 'hang up' | null;
  /** What arrived, by the end of the path; ` delta` after that of a report is for its deltas. */
  received(path: string): unknown[];
  /** sha256 of the last inventory body of each ecosystem. */
  digests: Map<string, string>;
  /** What it calls the updates, by name and architecture (`name:arch`). */
  updateIds: Map<string, string>;
  /** Versions beside which it recommends another, by name and version (`name:version`). */
  alternatives: Set<string>;
}

export async function startFleetServer(fleet: TestFleet): Promise<FleetServer> {
  const calls: { path: string; body: unknown }[] = [];
  /** The updates of the last report of each ecosystem. */
  const offered = new Map<string, InventoryReport['updates']>();
  let since = 0;
  const server: ScriptedServer = await startServer(({ method, path, body }) => {
    const [bare = '', query] = path.split('?');
    since = Number(new URLSearchParams(query).get('since'));
    const name = bare.replace(/^\/api\/v1\//, '').replace(`agents/${fleet.agentId}/`, '');
    const called = method === 'PATCH' ? `${name} delta` : name;
    calls.push({ path: called, body: body === '' ? null : JSON.parse(body) });
    return self.override(called) ?? answer(called, body);
  });

  function answer(name: string, body: string): Reply {
    if (name === 'check-in') return checkIn(JSON.parse(body));
    if (name === 'agents/register') return register();
    if (name === 'public-keys') return publicKeys();
    if (name === 'state') return json(self.agentState);
    const [, ecosystem] = /^inventory\/(\w+)$/.exec(name) ?? [];
    if (ecosystem !== undefined) {
      self.digests.set(ecosystem, createHash('sha256').update(body).digest('hex'));
      return answerReport(ecosystem, JSON.parse(body).updates);
    }
    const [, changed] = /^inventory\/(\w+) delta$/.exec(name) ?? [];
    if (changed !== undefined) return takeDelta(changed, JSON.parse(body));
    const [, tokenId] = /^approvals\/(.+)$/.exec(name) ?? [];
    if (tokenId !== undefined) {
      const approval = self.approvals.get(tokenId);
      return approval === undefined ? problem('not_found') : json(approval);
    }
    return json({}, 202);
  }

  function takeDelta(ecosystem: string, delta: InventoryDelta): Reply {
    if (self.digests.get(ecosystem) !== delta.base_sha256) return problem('whole_report_required');
    self.digests.set(ecosystem, delta.report_sha256);
    const isSame = delta.base_sha256 === delta.report_sha256;
    return answerReport(ecosystem, isSame ? (offered.get(ecosystem) ?? []) : delta.updates);
  }

  function answerReport(ecosystem: string, updates: InventoryReport['updates']): Reply {
    offered.set(ecosystem, updates);
    return json({ accepted: true, updates: nameUpdates(updates) });
  }

  function nameUpdates(updates: InventoryReport['updates']) {
    return updates.map(({ name, arch, available_version }) => {
      const isAlternative = self.alternatives.has(`${name}:${available_version}`);
      const key = `${name}:${arch ?? ''}${isAlternative ? `:${available_version}` : ''}`;
      const update_id = self.updateIds.get(key) ?? randomUUID();
      self.updateIds.set(key, update_id);
      return {
        ...{ update_id, name, available_version, ...(arch === undefined ? {} : { arch }) },
        ...(isAlternative && { alternative: true }),
      };
    });
  }

  function publicKeys(): Reply {
    const key_sets = self.keySets.slice(Math.max(0, since - 1)).slice(0, KEY_SETS_PAGE);
    return json({ keys: [], key_set: self.keySet, key_sets, roots: self.roots });
  }

  function register(): Reply {
    const tokens = {
      access_token: 'access-0',
      expires_in: 900,
      refresh_token: 'refresh-0',
      refresh_expires_at: timestamp(NOW_MS),
    };
    const keys = { keys: [], key_set: self.keySet };
    return json({ agent_id: fleet.agentId, ...tokens, check_in_interval_seconds: 60, ...keys }, 201);
  }

  function checkIn(body: { received: string[]; inventory_digest: Record<string, string> }): Reply {
    self.commands = self.commands.filter(({ id }) => !body.received.includes(id));
    const report = Object.entries(body.inventory_digest)
      .filter(([ecosystem, sha256]) => self.digests.get(ecosystem) !== sha256)
      .map(([ecosystem]) => ecosystem);
    return json({
      server_time: timestamp(NOW_MS),
      state: self.state,
      commands: [...self.commands.map(({ envelope }) => envelope), ...self.insistent],
      report,
      next_check_in_seconds: 60,
    });
  }

  const self: FleetServer = {
    url: server.url,
    stop: server.stop,
    commands: [],
    insistent: [],
    state: fleet.state(),
    agentState: fleet.agentState(),
    keySet: fleet.keySet({ version: 1, keys: [fleet.key.entry] }),
    keySets: [],
    roots: [],
    approvals: new Map(),
    override: () => null,
    received: (path) => calls.filter((call) => call.path === path).map((call) => call.body),
    digests: new Map(),
    updateIds: new Map(),
    alternatives: new Set(),
  };
  return self;
}
