import { AGENT_SORTS, type AgentSort, HOST_STATUSES, type HostStatus } from '@tidegate/protocol/agents-api';
import { RESTART_NEEDS } from '@tidegate/protocol/restarts';
import { isReported } from '@tidegate/protocol/tags-api';
import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import type { Position } from '../platform/db/keyset.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import type { AgentListFilter } from './filter-store.ts';
import { agentOrder, listAgents } from './list-store.ts';
import { changeTags, saveReportedTags } from './tag-store.ts';

const NOW_MS = 10_000_000;
const DIRECTED: readonly AgentSort[] = AGENT_SORTS.flatMap((field) => [field, `-${field}` as const]);

/** Sixteen different hosts, some with equal values; the last one is deleted. */
const HOSTS = Array.from({ length: 16 }, (_, n) => ({
  id: `01900000-0000-7000-8000-${((n * 7) % 16).toString(16).padStart(12, '0')}`,
  hostname: ['b', 'B', 'a', 'a', 'é', 'z'][n % 6] ?? '',
  machineId: n % 5 === 4 ? null : `Machine-${n}`,
  status: n % 7 === 6 ? ('revoked' as const) : ('active' as const),
  os: ['debian', 'rocky', 'Alpine'][n % 3] ?? '',
  osVersion: ['9', '12'][n % 2] ?? '',
  version: n % 4 === 0 ? '2.0.0' : '1.0.0',
  enrolledAt: n % 4,
  lastSeenAt: [null, NOW_MS - 1, NOW_MS - 179_999, NOW_MS - 180_000][n % 4] ?? null,
  isClone: n % 6 === 1,
  ecosystem: n % 3 === 0 ? 'npm' : 'apt',
  pending: n % 3,
  needs:
    ([null, ['needed', 'unknown'], ['not_needed', 'needed'], ['unknown', 'not_needed']] as const)[n % 4] ??
    null,
  group: n % 2 === 0 ? 'web' : null,
  tags: [['env=prod'], ['env=test', 'role=db'], [], ['host.role=db']][n % 4] ?? [],
  deletedAt: n === 15 ? 1 : null,
}));
type Host = (typeof HOSTS)[number];

async function insertHosts(database: Database): Promise<void> {
  await database.transact(async (tx) => {
    for (const host of HOSTS) {
      const agent_id = host.id;
      await tx
        .insertInto('agents')
        .values({
          id: host.id,
          machine_id: host.machineId,
          status: host.status,
          hostname: host.hostname,
          os_family: 'linux',
          os_id: host.os,
          os_version_id: host.osVersion,
          os_arch: 'amd64',
          agent_version: host.version,
          key_set_version: 0,
          next_seq: 1,
          inventory_digests: '{}',
          enrolled_at: host.enrolledAt,
          group_name: host.group,
          deleted_at: host.deletedAt,
        })
        .execute();
      if (host.lastSeenAt !== null) {
        await tx.insertInto('agent_presence').values({ agent_id, last_seen_at: host.lastSeenAt }).execute();
      }
      const set = host.tags.filter((tag) => !isReported(tag));
      await changeTags(tx, { agentId: agent_id, set, remove: [], by: 'ada', atMs: 1 });
      await saveReportedTags(tx, { agentId: agent_id, tags: host.tags.filter(isReported) });
      const report = { digest: 'd', scanned_at: 1, received_at: 1, complete: 1, package_count: 1 };
      await tx
        .insertInto('inventory_reports')
        .values({ agent_id, ecosystem: host.ecosystem, ...report })
        .execute();
      if (host.isClone) {
        const suspicion = {
          since: 1,
          evidence: '[]',
          raised_at: 1,
          closed_at: null,
          accepted_addresses: '[]',
        };
        await tx
          .insertInto('clone_suspicions')
          .values({ agent_id, ...suspicion })
          .execute();
      }
      if (host.needs !== null) {
        const [services, reboot] = host.needs;
        const row = { boot_id: 'b', services, reboot, restartable: 0, report: '{}', received_at: 1 } as const;
        await tx
          .insertInto('agent_restarts')
          .values({ agent_id, ...row })
          .execute();
      }
      for (let i = 0; i < 4; i++) {
        const id = `${host.id.slice(0, 34)}${i}${host.id.slice(35)}`;
        const update = { id, agent_id, ecosystem: 'apt', name: `p${i}`, arch: '', current_version: '1' };
        const state = i < host.pending ? 'pending' : 'installed';
        const rest = { available_version: '2', security: 0, out_of_band: 0, discovered_at: 1, updated_at: 1 };
        await tx
          .insertInto('updates')
          .values({ ...update, ...rest, state })
          .execute();
      }
    }
  });
}

const isActive = ({ status }: Host) => status === 'active';
const isOnline = (host: Host) =>
  isActive(host) && host.lastSeenAt !== null && host.lastSeenAt > NOW_MS - 180_000;
const STATUS: Record<HostStatus, (host: Host) => boolean> = {
  online: isOnline,
  offline: (host) => isActive(host) && host.lastSeenAt !== null && !isOnline(host),
  never: (host) => isActive(host) && host.lastSeenAt === null,
  bound: (host) => isActive(host) && host.machineId !== null,
  unbound: (host) => isActive(host) && host.machineId === null,
  revoked: ({ status }) => status === 'revoked',
  clone_suspected: ({ isClone }) => isClone,
  needs_attention: (host) => isActive(host) && (host.machineId === null || host.isClone || !isOnline(host)),
};
const FILTERS: readonly (readonly [AgentListFilter, (host: Host) => boolean])[] = [
  [{}, () => true],
  ...HOST_STATUSES.map((status) => [{ status }, STATUS[status]] as const),
  [{ q: 'CHINE-1' }, ({ machineId }) => machineId?.includes('chine-1') ?? false],
  [{ q: 'A' }, ({ hostname, machineId }) => hostname === 'a' || machineId !== null],
  [{ q: '01900000-0000-7000-8000-00000000000F' }, ({ id }) => id.endsWith('f')],
  [{ os: 'rocky' }, ({ os }) => os === 'rocky'],
  [{ ecosystem: 'npm' }, ({ ecosystem }) => ecosystem === 'npm'],
  [{ agentVersion: '2.0.0' }, ({ version }) => version === '2.0.0'],
  ...RESTART_NEEDS.flatMap((need) => [
    [{ servicesRestart: need }, ({ needs }: Host) => (needs?.[0] ?? 'unknown') === need] as const,
    [{ reboot: need }, ({ needs }: Host) => (needs?.[1] ?? 'unknown') === need] as const,
  ]),
  ...['env=prod', 'env=test', 'role=db', 'host.role=db', 'env=other'].map(
    (tag) => [{ tag }, ({ tags }: Host) => tags.includes(tag)] as const,
  ),
  [
    { tag: 'env=prod', group: 'web', online: true },
    (host) => host.tags.includes('env=prod') && host.group === 'web' && isOnline(host),
  ],
  [{ group: 'web', online: true }, (host) => host.group === 'web' && isOnline(host)],
  [{ online: false, cloneSuspected: false }, (host) => !isOnline(host) && !host.isClone],
];

function keyOf(host: Host, field: string): (string | number | null)[] {
  switch (field) {
    case 'last_seen_at':
      return [host.lastSeenAt, host.id];
    case 'status':
      return [['unbound', 'never', 'offline', 'online', 'revoked'].indexOf(wordOf(host)), host.id];
    case 'pending_updates':
      return [host.pending, host.id];
    case 'os':
      return [host.os, host.osVersion, host.id];
    case 'enrolled_at':
      return [host.enrolledAt, host.id];
    default:
      return [host.hostname, host.id];
  }
}

function wordOf(host: Host): string {
  if (!isActive(host)) return 'revoked';
  if (host.machineId === null) return 'unbound';
  if (host.lastSeenAt === null) return 'never';
  return isOnline(host) ? 'online' : 'offline';
}

function comparing(sort: AgentSort): (a: Host, b: Host) => number {
  return (a, b) => {
    const [left, right] = [keyOf(a, sort.replace('-', '')), keyOf(b, sort.replace('-', ''))];
    for (const [i, x] of left.entries()) {
      const y = right[i] ?? null;
      if (x === y) continue;
      if (x === null || y === null) return x === null ? 1 : -1;
      const order =
        typeof x === 'number' ? x - Number(y) : Buffer.compare(Buffer.from(x), Buffer.from(String(y)));
      return sort.startsWith('-') ? -order : order;
    }
    return 0;
  };
}

describe.each(ENGINES)('the list of hosts on $name', (engine) => {
  test.each(DIRECTED)('sorted by %s lists every host once and in order, with any filter', async (sort) => {
    const database = await engine.open();
    await insertHosts(database);
    const order = agentOrder(sort, NOW_MS);
    for (const [filter, isMeant] of FILTERS) {
      // A scope, and whether an index is walked if the order has one.
      for (const [scope, mostSorted] of [
        [null, 10_000],
        [['web'], 10_000],
        [null, 0],
      ] as const) {
        const meant = HOSTS.filter((host) => host.deletedAt === null && isMeant(host)).filter(
          ({ group }) => scope === null || group === 'web',
        );
        const ids: string[] = [];
        let after: Position | null = null;
        for (let pages = 0; pages <= HOSTS.length; pages++) {
          const page = { filter, scope, nowMs: NOW_MS, order, limit: 4, after, mostSorted };
          const { rows, count } = await listAgents(database.read, page);
          expect(count).toBe(meant.length);
          ids.push(...rows.map(({ id }) => id));
          after = rows.at(-1)?.position ?? null;
          if (after === null) break;
        }
        expect(ids, JSON.stringify(filter)).toEqual(meant.toSorted(comparing(sort)).map(({ id }) => id));
      }
    }
  });

  test('takes two statements where few are found and three of many, however long the page is', async () => {
    const opened = await engine.open();
    await insertHosts(opened);
    const { database, counts, reset } = countStatements(opened);
    for (const sort of DIRECTED) {
      for (const limit of [1, 200]) {
        for (const [mostSorted, statements] of [
          [HOSTS.length, 2],
          [0, 3],
        ] as const) {
          reset();
          const order = agentOrder(sort, NOW_MS);
          await listAgents(database.read, {
            filter: {},
            scope: null,
            nowMs: NOW_MS,
            order,
            limit,
            after: null,
            mostSorted,
          });
          expect(counts().reads).toBe(statements);
        }
      }
    }
  });
});
