import { setTimeout as pause } from 'node:timers/promises';
import type { Database, HotRow, HotSql } from '../platform/db/engine.ts';
import { text, textOrNull } from '../platform/db/hot-sql.ts';
import { gather, type Rest } from '../platform/gather.ts';
import type { AgentFacts } from '../platform/http/access.ts';

/** The identity that a token claims; only the database knows whether it is still valid. */
export interface CallerKey {
  readonly agentId: string;
  readonly familyId: string;
}

/** An agent's facts for the guard and the check-in, read again at every request. */
export interface CallerRow extends AgentFacts {
  readonly agentId: string;
  readonly machineId: string | null;
  readonly agentStatus: 'active' | 'revoked';
  readonly familyActive: boolean;
}

/** Returns null when the agent is deleted, or the family is unknown or belongs to another agent. */
export type CallerReader = (key: CallerKey) => Promise<CallerRow | null>;

interface CallerQuestion {
  readonly key: CallerKey;
  resolve(row: CallerRow | null): void;
  reject(error: unknown): void;
}

/** Statements under way at once: one runs, one waits for a connection. */
const IN_FLIGHT_MAX = 2;
/** Families per statement. */
const BATCH_MAX = 200;
/** Least time between two statements of few families on PostgreSQL, in milliseconds: there a statement costs far more than what it reads. */
const REST_MS = 3;
/** As many do not wait for more. */
const ENOUGH = 16;

/**
 * Creates the reader for the hot path: requests of one moment share one prepared statement. Nothing is cached: a request
 * never sees a row read before it arrived, so a revocation counts from its commit on.
 */
export function createCallerReader(
  database: Pick<Database, 'engine' | 'prepareRead'>,
  over: Rest['over'] = () => pause(REST_MS),
): CallerReader {
  const read = database.prepareRead(READ_CALLERS);
  const ask = gather<CallerQuestion>({
    most: BATCH_MAX,
    inFlightMax: IN_FLIGHT_MAX,
    ...(database.engine === 'postgres' && { rest: { over, enough: ENOUGH } }),
    run: (batch) =>
      read([batch.map((question) => question.key.familyId)]).then(
        (rows) => settle(batch, rows),
        (error: unknown) => {
          for (const question of batch) question.reject(error);
        },
      ),
  });
  return (key) => new Promise((resolve, reject) => ask({ key, resolve, reject }));
}

/** Rows carry the question's index; no row means an unknown agent. */
function settle(batch: readonly CallerQuestion[], rows: readonly HotRow[]): void {
  const found: (HotRow | undefined)[] = new Array(batch.length);
  for (const row of rows) found[Number(row[0])] = row;
  for (const [i, question] of batch.entries()) {
    const row = found[i];
    // Looked up by family alone: the family's agent must be the token's.
    question.resolve(row !== undefined && row[1] === question.key.agentId ? callerOf(row) : null);
  }
}

/** The columns in the order of COLUMNS. */
function callerOf(row: HotRow): CallerRow {
  const facts = Number(row[8]);
  return {
    agentId: text(row[1]),
    machineId: textOrNull(row[2]),
    agentStatus: (facts & AGENT_ACTIVE) === 0 ? 'revoked' : 'active',
    familyActive: (facts & FAMILY_ACTIVE) !== 0,
    agentVersion: text(row[3]),
    bootId: textOrNull(row[4]),
    keySetVersion: Number(row[5]),
    pollingIntervalSeconds: typeof row[6] === 'number' ? row[6] : null,
    hasOpenCommands: (facts & OPEN_COMMANDS) !== 0,
    digests: text(row[7]),
  };
}

/** An agent's facts as bits of one number: each column of a row costs as much as looking up the row. */
const FAMILY_ACTIVE = 1;
const AGENT_ACTIVE = 2;
const OPEN_COMMANDS = 4;

const COLUMNS = `a.id, a.machine_id, a.agent_version, a.boot_id, a.key_set_version, a.polling_interval_seconds,
  a.inventory_digests, CASE f.status WHEN 'active' THEN ${FAMILY_ACTIVE} ELSE 0 END
    + CASE a.status WHEN 'active' THEN ${AGENT_ACTIVE} ELSE 0 END
    + CASE WHEN EXISTS (SELECT 1 FROM agent_commands c
        WHERE c.agent_id = a.id AND c.status IN ('pending', 'sent')) THEN ${OPEN_COMMANDS} ELSE 0 END`;

const READ_CALLERS: HotSql = {
  name: 'read_callers',
  sqlite: `SELECT k.key, ${COLUMNS} FROM json_each(?) k CROSS JOIN refresh_families f ON f.id = k.value
    JOIN agents a ON a.id = f.agent_id WHERE a.deleted_at IS NULL`,
  postgres: `SELECT k.place - 1, ${COLUMNS} FROM unnest($1::text[]) WITH ORDINALITY k (id, place)
    JOIN refresh_families f ON f.id = k.id JOIN agents a ON a.id = f.agent_id WHERE a.deleted_at IS NULL`,
};
