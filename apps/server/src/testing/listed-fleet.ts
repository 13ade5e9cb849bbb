import { UPDATE_STATES, VERDICTS } from '@tidegate/protocol/states';
import { ADVISORY_SEVERITIES } from '@tidegate/protocol/updates-api';
import { insertDecisions, type NewDecision } from '../approvals/decision-store.ts';
import type { Database } from '../platform/db/engine.ts';
import { fixRank, queueRank } from '../updates/queue-rules.ts';
import { hasPlaces } from '../updates/scan-rules.ts';
import { insertUpdates } from '../updates/store.ts';

export interface ListedTestUpdate {
  id: string;
  agent_id: string;
  hostname: string;
  os: string;
  group: string | null;
  ecosystem: string;
  name: string;
  available_version: string;
  state: string;
  verdict: string | null;
  severity: string | null;
  security: number;
  known_exploited: number | null;
  queue_rank: number | null;
  introduces: number | null;
  stays: number | null;
  fixes: number | null;
  fixes_severity: string | null;
  fixes_exploited: number | null;
  fix_rank: number;
  stopped_under: 'introduced' | 'any' | 'neither' | null;
  /** Whether the gate stopped it. */
  blocked: boolean;
  recommended: number;
  offers: number;
  discovered_at: number;
  updated_at: number;
}

const NAMES = ['curl', 'Curl', 'zlib', 'a_b', 'aXb', 'openssl', 'Ωmega', 'left-pad', 'é'];
const STOPPED = ['introduced', 'any', 'neither', null] as const;
const ECOSYSTEMS = ['apt', 'apt', 'npm', 'dnf', 'pypi'];

/**
 * Hosts and updates in every shape that a list sorts and filters by, with many ties; one host in seven is
 * deleted. Returns the updates that a list may show.
 */
export async function insertListedFleet(
  database: Database,
  { hosts, updates }: { hosts: number; updates: number },
): Promise<ListedTestUpdate[]> {
  const fleet = Array.from({ length: hosts }, (_, n) => ({
    id: idOf('8', n),
    machine_id: `machine-${n}`,
    status: 'active' as const,
    hostname: `${n % 2 === 0 ? 'Web' : 'db'}-${n >> 1}`,
    os_family: 'linux',
    os_id: n % 3 === 0 ? 'rocky' : 'debian',
    os_version_id: `${n % 4}`,
    os_arch: 'amd64',
    agent_version: '1.0.0',
    key_set_version: 0,
    next_seq: 1,
    inventory_digests: '{}',
    enrolled_at: n,
    deleted_at: n % 7 === 6 ? 1 : null,
    group_name: n % 4 === 0 ? 'web' : null,
  }));
  const rows = Array.from({ length: updates }, (_, n) => {
    const host = fleet[pick(n, 11) % hosts];
    if (!host) throw new Error('there is no host');
    const ecosystem = ECOSYSTEMS[pick(n, 1) % 5] ?? 'apt';
    const severity = pick(n, 3) % 2 === 0 ? null : (ADVISORY_SEVERITIES[pick(n, 4) % 6] ?? null);
    const known_exploited = [null, 0, 1][pick(n, 5) % 3] ?? null;
    const epss = pick(n, 6) % 3 === 0 ? (pick(n, 7) % 4) / 4 : null;
    const knownExploited = known_exploited === null ? null : known_exploited === 1;
    const fixes = [null, 0, 9][pick(n, 18) % 3] ?? null;
    const fixes_severity = fixes ? (ADVISORY_SEVERITIES[pick(n, 21) % 6] ?? null) : null;
    const fixes_exploited = fixes ? ([null, 0, 1][pick(n, 22) % 3] ?? null) : null;
    return {
      id: idOf('9', pick(n, 8) * 1_000 + n),
      agent_id: host.id,
      ecosystem,
      name: NAMES[pick(n, 2) % 9] ?? 'curl',
      arch: `${n}`,
      current_version: '1',
      available_version: `${pick(n, 12) % 3}`,
      security: pick(n, 9) % 2,
      state: UPDATE_STATES[pick(n, 10) % 8] ?? 'pending',
      out_of_band: 0,
      verdict: [...VERDICTS, null][pick(n, 13) % 4] ?? null,
      severity,
      known_exploited,
      epss,
      queue_rank: queueRank({ severity, knownExploited, epss }),
      introduces: [null, 0, 2][pick(n, 16) % 3] ?? null,
      stays: [null, 0, 1][pick(n, 17) % 3] ?? null,
      ...{ fixes, fixes_severity, fixes_exploited },
      fix_rank: fixRank({ fixes, severity: fixes_severity, exploited: fixes_exploited === 1 }),
      recommended: [15, 15, 15, 7, 10, 0][pick(n, 19) % 6] ?? 15,
      offers: hasPlaces(ecosystem) ? pick(n, 20) % 8 : 0,
      stopped_under: STOPPED[pick(n, 23) % 4] ?? null,
      discovered_at: (pick(n, 14) % 7) * 1_000,
      updated_at: (pick(n, 15) % 7) * 1_000,
    };
  });
  await database.transact(async (tx) => {
    await tx.insertInto('agents').values(fleet).execute();
    await insertUpdates(tx, rows);
    await insertDecisions(tx, rows.map(decisionOf));
  });
  return rows.flatMap((row) => {
    const host = fleet.find(({ id }) => id === row.agent_id);
    if (!host || host.deleted_at !== null) return [];
    return [
      {
        ...row,
        hostname: host.hostname,
        os: host.os_id,
        group: host.group_name,
        blocked: decisionOf(row).row.outcome !== 'minted',
      },
    ];
  });
}

function decisionOf({ id, agent_id, arch }: { id: string; agent_id: string; arch: string }): NewDecision {
  const row = {
    ...{ id: id.replace('-9000-', '-a000-'), agent_id, set_sha256: id, actor: 'ada', fingerprint: 'f' },
    ...{ document: '{}', document_sha256: 'd', plan_id: null, token_id: null, decided_at: 1 },
    ...{ repeated_at: null, repeats: 0 },
  };
  const outcome =
    (['minted', 'blocked', 'minted', 'handed_back'] as const)[pick(Number(arch), 24) % 4] ?? 'minted';
  return { row: { ...row, outcome }, updateIds: [id] };
}

/** A number that looks random, and is the same in each run. */
function pick(n: number, salt: number): number {
  return (Math.imul(n * 31 + salt * 977 + 7, 0x9e3779b1) >>> 16) & 0xfff;
}

function idOf(group: '8' | '9', n: number): string {
  return `01900000-0000-7000-${group}000-${n.toString(16).padStart(12, '0')}`;
}
