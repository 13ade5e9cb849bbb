import { RecordedDecision } from '@tidegate/protocol/decisions-api';
import { ApprovalPayload } from '@tidegate/protocol/documents';
import type { EvidenceScope } from '@tidegate/protocol/evidence-api';
import { PolicyPayload } from '@tidegate/protocol/policies-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import { storedPackages } from '../installed/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import { chunks, weighedChunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { keySetsAfter, rootsAfter } from '../signing-keys/store.ts';
import {
  ageExceptionsIn,
  approvalIds,
  approvalsIn,
  decisionIds,
  decisionsIn,
  divergencesIn,
  documentsOf,
  type HostRow,
  historyOf,
  holdsIn,
  hostsOfRollout,
  type IdPage,
  lastDecisionsOf,
  originsIn,
  PAGE_ROWS,
  PAGE_UPDATES,
  packagesOfRollout,
  policiesIn,
  reportsOfHost,
  rolloutsIn,
  type Span,
  statementsIn,
  type UpdatePlace,
  type UpdateRow,
  unfixedIn,
  updatesOfHost,
} from './store.ts';
import { type Judged, judgedIn, updateLine } from './update-lines.ts';

export interface Collecting {
  readonly db: Db;
  readonly scope: EvidenceScope;
  readonly span: Span;
  readonly hosts: ReadonlyMap<string, HostRow>;
  /** Ids of bulk approvals that approvals of the bundle came from: filled while those are written, before the events. */
  readonly bulkIds: Set<string>;
  /** Takes a sentence on what the bundle cannot say. */
  readonly note: (sentence: string) => void;
}

export type Lines = AsyncGenerator<object>;

const records = Compile(RecordedDecision);
const approvalPayloads = Compile(ApprovalPayload);
const policyPayloads = Compile(PolicyPayload);

/** How long before a span something may have begun that still counts in it: approvals and commands end much earlier. */
const EARLIER_MS = 92 * 86_400_000;
/** Bulk approvals whose events are shown in a bundle of some hosts. */
const BULK_IDS_MAX = 20_000;
/** Approvals and decisions that are read at once: approvals have up to 4 MiB each. */
const AT_ONCE = 20;
const AT_ONCE_BYTES = 1024 * 1024;

/** Root documents and key sets, the oldest first: each is signed by keys of the one before. */
export async function* keyLines({ db }: Collecting): Lines {
  for (const { envelope } of await rootsAfter(db, 0)) yield { root: json(envelope) };
  for (let version = 0; ; ) {
    await takeTurn();
    const page = await keySetsAfter(db, { version, limit: 16 });
    for (const { envelope } of page) yield { key_set: json(envelope) };
    const last = page.at(-1);
    if (!last) return;
    version = last.version;
  }
}

export async function* hostLines({ hosts }: Collecting): Lines {
  for (const row of hosts.values()) {
    yield {
      agent_id: row.id,
      hostname: row.hostname,
      os: { family: row.os_family, id: row.os_id, version_id: row.os_version_id, arch: row.os_arch },
      agent_version: row.agent_version,
      group: row.group_name,
      enrolled_at: rfc3339(row.enrolled_at),
      revoked_at: timeOf(row.revoked_at),
      deleted_at: timeOf(row.deleted_at),
    };
  }
}

export async function* policyLines(of: Collecting): Lines {
  const left = createLeftOut(of, 'policies');
  for await (const row of paged(of, policiesIn, ({ sha256 }) => sha256)) {
    if (row.ended_at === null && !of.db.seals.holdsRow('policies', row)) left.count++;
    else
      yield {
        ...{ policy_id: row.policy_id, sha256: row.sha256, version: row.version, name: row.name },
        ...{ author: row.author, created_at: rfc3339(row.created_at), ...endOf(row) },
        rings: ringsOf(row.envelope),
        envelope: json(row.envelope),
      };
  }
  left.tell();
}

export async function* statementLines(of: Collecting): Lines {
  const left = createLeftOut(of, 'statements on vulnerabilities');
  for await (const row of paged(of, statementsIn, ({ id }) => id)) {
    if (row.ended_at === null && !of.db.seals.holdsRow('vex_statements', row)) left.count++;
    else
      yield {
        ...{ id: row.id, sha256: row.sha256, status: row.status, vulnerability: row.vulnerability },
        ...{ ecosystem: row.ecosystem, name: row.name, justification: row.justification, text: row.text },
        ...{ created_by: row.created_by, created_at: rfc3339(row.created_at), ...endOf(row) },
        envelope: json(row.envelope),
      };
  }
  left.tell();
}

export async function* originLines(of: Collecting): Lines {
  const left = createLeftOut(of, 'registered origins');
  for await (const row of paged(of, originsIn, ({ id }) => id)) {
    if (row.ended_at === null && !of.db.seals.holdsRow('origins', row)) left.count++;
    else
      yield {
        ...{ id: row.id, sha256: row.sha256, ecosystem: row.ecosystem, signing_key: row.signing_key },
        ...{ suites: json(row.suites), rule: row.rule, min_age_days: row.min_age_days, reason: row.reason },
        ...{ created_by: row.created_by, created_at: rfc3339(row.created_at), ...endOf(row) },
        envelope: json(row.envelope),
      };
  }
  left.tell();
}

/** Holds, and versions that were excepted from the age gate. Neither is signed: their events stand for them. */
export async function* exceptionLines(of: Collecting): Lines {
  for await (const row of paged(of, holdsIn, ({ id }) => id)) {
    yield {
      ...{ kind: 'hold', id: row.id, ecosystems: json(row.ecosystems), packages: json(row.packages) },
      ...{ scope: json(row.scope), reason: row.reason, created_by: row.created_by },
      ...{ created_at: rfc3339(row.created_at), ends_at: rfc3339(row.ends_at) },
      ...{ ended_at: timeOf(row.ended_at), ended_by: row.ended_by },
    };
  }
  const left = createLeftOut(of, 'exceptions from the age gate');
  for await (const row of paged(of, ageExceptionsIn, ({ id }) => id)) {
    if (row.deleted_at === null && !of.db.seals.holdsRow('age_exceptions', row)) left.count++;
    else
      yield {
        ...{ kind: 'age', id: row.id, ecosystem: row.ecosystem, name: row.name, version: row.version },
        ...{ reason: row.reason, created_by: row.created_by, created_at: rfc3339(row.created_at) },
        ...{ ends_at: rfc3339(row.expires_at), ended_at: timeOf(row.deleted_at), ended_by: null },
      };
  }
  left.tell();
}

/** Approvals as signed, with what the agent reported of each. */
export async function* approvalLines(of: Collecting): Lines {
  let unreadable = 0;
  for await (const ids of idsOf(of, approvalIds)) {
    for (const { row, updateIds, results } of await approvalsIn(of.db, { ids, span: of.span })) {
      const token = json(row.envelope);
      const payload = payloadOf(token);
      const actions = approvalPayloads.Check(payload) ? payload.actions : null;
      if (actions === null) unreadable++;
      if (row.bulk_id !== null && of.bulkIds.size < BULK_IDS_MAX) of.bulkIds.add(row.bulk_id);
      const files = (actions ?? []).flatMap(({ artifact }) => (artifact ? [artifact] : []));
      yield {
        ...{ token_id: row.token_id, agent_id: row.agent_id, approved_by: row.approved_by },
        is_policy: row.policy_id !== null,
        ...{ policy_id: row.policy_id, policy_sha256: row.policy_sha256 },
        ...{ is_bulk: row.bulk_id !== null, bulk_id: row.bulk_id },
        ...{ issued_at: rfc3339(row.issued_at), expires_at: rfc3339(row.expires_at) },
        ...{ voided_at: timeOf(row.voided_at), void_reason: row.void_reason },
        is_override: row.override_by !== null,
        override:
          row.override_by === null
            ? null
            : { by: row.override_by, reason: row.override_reason, event_id: row.override_event_id },
        update_ids: updateIds,
        sha256: row.payload_sha256,
        artifacts: files.length,
        hashed: files.filter(({ sha256, sha512 }) => (sha256 ?? sha512) !== undefined).length,
        origin_keys: (actions ?? []).filter((action) => action.artifact && action.origin_key).length,
        succeeded: results.filter(({ status }) => status === 'success').length,
        failed: results.filter(({ status }) => FAILED.has(status)).length,
        token,
        results: results.map((result) => ({
          ...{ command_id: result.id, approval_sha256: result.approval_sha256, status: result.status },
          ...{ reason: result.reason, exit_code: result.exit_code, sent_at: timeOf(result.sent_at) },
          ...{ received_at: timeOf(result.received_at), started_at: timeOf(result.started_at) },
          ...{ installing_at: timeOf(result.installing_at), finished_at: timeOf(result.finished_at) },
          installed: result.installed === null ? null : json(result.installed),
        })),
      };
    }
  }
  if (unreadable > 0)
    of.note(`${unreadable} approvals have no readable payload: their files are not counted.`);
}

const FAILED = new Set(['failed', 'refused', 'interrupted']);

/** Decisions of the gate: the record is the text whose hash was stored with it. */
export async function* decisionLines(of: Collecting): Lines {
  for await (const ids of idsOf(of, decisionIds)) {
    for (const row of await decisionsIn(of.db, { ids, span: of.span })) {
      yield {
        ...{ id: row.id, agent_id: row.agent_id, outcome: row.outcome, actor: row.actor },
        ...{ token_id: row.token_id, decided_at: rfc3339(row.decided_at) },
        ...{ repeats: row.repeats, repeated_at: timeOf(row.repeated_at) },
        ...{ sha256: row.document_sha256, record: row.document },
      };
    }
  }
}

/** Updates by host, as they stood at the end of the span. */
export async function* updateLines({ db, span, hosts }: Collecting): Lines {
  for (const agentId of hosts.keys()) {
    for (let after: UpdatePlace | null = null; ; ) {
      await takeTurn();
      const rows: UpdateRow[] = await updatesOfHost(db, { agentId, after });
      const page = rows.filter((row) => isOfSpan(row, span));
      const updateIds = page.map(({ id }) => id);
      const history = await historyOf(db, { updateIds, untilMs: span.untilMs });
      await takeTurn();
      const last = await lastDecisionsOf(db, { updateIds, untilMs: span.untilMs });
      const judged = await judgedOf(db, page, last);
      for (const row of page) {
        const facts = { span, history: history.get(row.id) ?? [], judged: judged.get(row.id) ?? null };
        const line = updateLine(row, facts);
        if (line !== null) yield line;
      }
      after = rows.at(-1) ?? after;
      if (rows.length < PAGE_UPDATES) break;
    }
  }
}

/** Whether it was known before the end of the span, and had not ended before it. */
function isOfSpan({ state, discovered_at, updated_at }: UpdateRow, { sinceMs, untilMs }: Span): boolean {
  const isEnded = state === 'installed' || state === 'superseded';
  return discovered_at < untilMs && (!isEnded || updated_at >= sinceMs);
}

/** What the newest decision says of each update: of the records, which are long, only that is kept. */
async function judgedOf(
  db: Db,
  updates: readonly UpdateRow[],
  last: ReadonlyMap<string, string>,
): Promise<Map<string, Judged>> {
  const judged = new Map<string, Judged>();
  const byDecision = Map.groupBy(updates, ({ id }) => last.get(id));
  for (const ids of chunks([...new Set(last.values())], AT_ONCE)) {
    await takeTurn();
    for (const { id, document } of await documentsOf(db, ids)) {
      await takeTurn();
      const decision = recordOf(document);
      if (decision === null) continue;
      for (const row of byDecision.get(id) ?? []) judged.set(row.id, judgedIn(decision, row));
    }
  }
  return judged;
}

/** Rollouts that reached a host of the scope, or all of them for the fleet. */
export async function* rolloutLines(of: Collecting): Lines {
  const { db, hosts, scope } = of;
  for await (const row of paged(of, rolloutsIn, ({ id }) => id)) {
    let [here, elsewhere] = [0, 0];
    for await (const { agent_id } of hostsReached(db, row.id)) {
      if (hosts.has(agent_id)) here++;
      else elsewhere++;
    }
    if (here === 0 && scope.kind !== 'fleet') continue;
    const packages = await packagesOfRollout(db, row.id);
    yield {
      ...{ rollout_id: row.id, policy_id: row.policy_id, policy_sha256: row.policy_sha256, lane: row.lane },
      ...{ state: row.state, started_at: rfc3339(row.started_at) },
      entered: entered(row.entered),
      ...{ approved_ring: row.approved_ring, approved_by: row.approved_by },
      ...{ halted_at: timeOf(row.halted_at), halted_by: row.halted_by, halt_reason: row.halt_reason },
      ...{ ended_at: timeOf(row.ended_at), end_reason: row.end_reason },
      packages: packages.map(({ ecosystem, name, version }) => ({ ecosystem, name, version })),
      ...{ hosts: here, hosts_elsewhere: elsewhere },
    };
  }
}

/** The hosts of the scope that rollouts reached: a line each, as one rollout may reach all of a large fleet. */
export async function* rolloutHostLines(of: Collecting): Lines {
  for await (const { id } of paged(of, rolloutsIn, (row) => row.id)) {
    for await (const { agent_id, ring, outcome, reason, ...host } of hostsReached(of.db, id)) {
      if (!of.hosts.has(agent_id)) continue;
      yield {
        ...{ rollout_id: id, agent_id, ring, outcome, reason },
        ...{ delivered_at: timeOf(host.delivered_at), settled_at: timeOf(host.settled_at) },
      };
    }
  }
}

async function* hostsReached(db: Db, id: string) {
  for (let after = ''; ; ) {
    await takeTurn();
    const page = await hostsOfRollout(db, { id, after });
    yield* page;
    after = page.at(-1)?.agent_id ?? after;
    if (page.length < PAGE_ROWS) return;
  }
}

export async function* divergenceLines(of: Collecting): Lines {
  for await (const { row, hashes } of paged(of, divergencesIn, (each) => each.row.id)) {
    yield {
      ...{ id: row.id, ecosystem: row.ecosystem, name: row.name, version: row.version },
      ...{ algorithm: row.algorithm, state: row.state, opened_at: rfc3339(row.opened_at) },
      ...{ decided_at: timeOf(row.decided_at), decided_by: row.decided_by, reason: row.reason },
      hashes: hashes.map(({ hash, standing, hosts, origin, url }) => ({
        ...{ hash, standing, hosts, origin, url },
      })),
    };
  }
}

export async function* unfixedLines(of: Collecting): Lines {
  const group = of.scope.kind === 'group' ? of.scope.group : null;
  const read = (db: Db, page: { span: Span; after: string }) => unfixedIn(db, { ...page, group });
  for await (const row of paged(of, read, ({ id }) => id)) {
    yield {
      ...{ id: row.id, ecosystem: row.ecosystem, package: row.package, vulnerability: row.vulnerability },
      ...{ severity: row.severity, first_seen_at: rfc3339(row.first_seen_at), gone_at: timeOf(row.gone_at) },
      ...{ fixed_in: row.fixed_in, fix_known_at: timeOf(row.fix_known_at) },
      is_mitigated: row.hook !== null,
      mitigation:
        row.hook === null
          ? null
          : { hook: row.hook, note: row.note, by: row.mitigated_by, at: timeOf(row.mitigated_at) },
    };
  }
}

/** What the hosts have now, which is the end of the span only where nothing was reported since. */
export async function* inventoryLines({ db, hosts, span, note }: Collecting): Lines {
  let later = 0;
  let none = 0;
  for (const agentId of hosts.keys()) {
    await takeTurn();
    const reports = await reportsOfHost(db, agentId);
    if (reports.length === 0) none++;
    for (const report of reports) {
      const isLater = report.received_at >= span.untilMs;
      if (isLater) later++;
      yield {
        report: {
          ...{ agent_id: agentId, ecosystem: report.ecosystem, digest: report.digest },
          ...{ scanned_at: rfc3339(report.scanned_at), received_at: rfc3339(report.received_at) },
          ...{ is_complete: report.complete === 1, is_after_span: isLater, packages: report.package_count },
        },
      };
      const ecosystem = Value.Parse(Ecosystem, report.ecosystem);
      await takeTurn();
      for await (const page of storedPackages(db, { agentId, ecosystem })) {
        for (const { name, arch, version, origin, held } of page)
          yield {
            package: { agent_id: agentId, ecosystem, name, arch, version, origin, is_held: held === 1 },
          };
        await takeTurn();
      }
    }
  }
  if (later > 0)
    note(
      `The inventory of ${later} package managers was received after the span: what they had at its end is not known.`,
    );
  if (none > 0) note(`${none} hosts have never sent an inventory.`);
}

/** Pages of ids, of which those of the hosts come in parts. */
async function* idsOf(
  { db, hosts, span }: Collecting,
  read: (db: Db, page: { from: string; after: string }) => Promise<IdPage>,
): AsyncGenerator<string[]> {
  const weigh = ({ bytes }: { bytes: number }) => Math.max(bytes, AT_ONCE_BYTES / AT_ONCE);
  const from = firstIdAt(span.sinceMs - EARLIER_MS);
  for (let after = ''; ; ) {
    await takeTurn();
    const { rows, isLast } = await read(db, { from, after });
    const ours = rows.filter(({ agent_id }) => hosts.has(agent_id));
    for (const some of weighedChunks(ours, { weigh, most: AT_ONCE_BYTES })) {
      await takeTurn();
      yield some.map(({ id }) => id);
    }
    after = rows.at(-1)?.id ?? after;
    if (isLast) return;
  }
}

/** The smallest id (UUID version 7) that can be made at a time. */
function firstIdAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

async function* paged<T>(
  { db, span }: Collecting,
  read: (db: Db, page: { span: Span; after: string }) => Promise<readonly T[]>,
  keyOf: (row: T) => string,
): AsyncGenerator<T> {
  for (let after = ''; ; ) {
    await takeTurn();
    const page = await read(db, { span, after });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = keyOf(last);
  }
}

/** Rows that the server ignores because it did not write them. */
function createLeftOut({ note }: Collecting, what: string) {
  return {
    count: 0,
    tell() {
      if (this.count > 0)
        note(`${this.count} ${what} are left out: the server did not write these rows, and ignores them.`);
    },
  };
}

function endOf(row: {
  ends_at: number;
  ended_at: number | null;
  end_reason: string | null;
  ended_by: string | null;
}) {
  const { ends_at, ended_at, end_reason, ended_by } = row;
  return { ends_at: rfc3339(ends_at), ended_at: timeOf(ended_at), end_reason, ended_by };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : rfc3339(ms);
}

function json(text: string): unknown {
  return JSON.parse(text);
}

function recordOf(document: string): RecordedDecision | null {
  const value = json(document);
  return records.Check(value) ? value : null;
}

function payloadOf(envelope: unknown): unknown {
  if (typeof envelope !== 'object' || envelope === null || !('payload' in envelope)) return null;
  return typeof envelope.payload === 'string'
    ? json(Buffer.from(envelope.payload, 'base64').toString('utf8'))
    : null;
}

/** The names of a policy's rings; null without rings. */
function ringsOf(envelope: string): string[] | null {
  const payload = payloadOf(json(envelope));
  if (!policyPayloads.Check(payload)) return null;
  return payload.rings?.map(({ name }) => name) ?? null;
}

function entered(text: string): string[] {
  const times = json(text);
  return Array.isArray(times) ? times.filter(Number.isFinite).map((ms) => rfc3339(ms)) : [];
}
