import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createRowSeals, SEALED_COLUMNS, type SealedTable } from './create-row-seals.ts';
import type { DatabaseOptions } from './engine.ts';

const seals = createRowSeals(() => Buffer.alloc(32, 1));
const TABLES = Object.keys(SEALED_COLUMNS).filter((name): name is SealedTable => name in SEALED_COLUMNS);

/** Columns that give no right, and why a writer may set them. */
const OPEN: Readonly<Record<string, readonly string[]>> = {
  // Shown to people; what ends a session takes its seal away.
  operator_sessions: ['address', 'user_agent', 'last_used_at', 'revoked_at'],
  // Counters: an older row with its seal would bring them back as well.
  operator_totp: ['last_step', 'failures', 'last_failed_at'],
  operator_recovery_codes: ['used_at'],
  operator_identities: ['last_used_at'],
  operator_passkeys: ['sign_count', 'transports', 'backed_up', 'name', 'last_used_at'],
  setup_links: ['used_at'],
  api_tokens: ['last_used_at', 'revoked_at'],
  registration_tokens: ['deleted_at'],
  fleet_lock_tokens: ['revoked_at'],
  age_exceptions: ['deleted_at'],
  // What ends a statement takes its seal away.
  vex_statements: ['ended_at', 'end_reason', 'ended_by'],
  origins: ['ended_at', 'end_reason', 'ended_by'],
  policies: ['ended_at', 'end_reason', 'ended_by'],
  resyncs: ['closed_at'],
  // What became of a command, as its host says; agents check its envelope, and the seal is asked for before each
  // signature. Probes and hooks tell no more than the status: whoever can set one can report a success.
  agent_commands: [
    ...[
      'status',
      'seq',
      'key_id',
      'machine_sha256',
      'epoch',
      'envelope',
      'sent_at',
      'received_at',
      'started_at',
      'installing_at',
    ],
    ...['finished_at', 'reason', 'exit_code', 'output_tail', 'installed', 'restarts'],
    ...['probes', 'called_off_at', 'hooks', 'way_back', 'answer', 'changed_at'],
  ],
  // How far a host is in the queue; what it is asked to do is sealed, and is asked for before each command.
  host_reboots: [
    ...['state', 'not_before', 'attempts', 'command_id', 'offered_at', 'cancelled_by', 'blockers'],
    ...['outcomes', 'detail', 'new_boot_id', 'ended_at'],
  ],
};

function sample(table: SealedTable): Record<string, string | number | null> {
  return Object.fromEntries(SEALED_COLUMNS[table].map((column, i) => [column, i % 2 === 0 ? `v${i}` : i]));
}

describe.each(TABLES)('the seal of %s', (table) => {
  test('holds for the row, and for no row with another value in any column of it', () => {
    const row = sample(table);
    const seal = seals.sealRow(table, row);
    expect(seals.holdsRow(table, { ...row, seal })).toBe(true);
    for (const column of SEALED_COLUMNS[table]) {
      for (const value of ['', null, 0, `${row[column]} `, String(row[column])]) {
        if (value === row[column]) continue;
        expect([column, seals.holdsRow(table, { ...row, [column]: value, seal })]).toEqual([column, false]);
      }
    }
  });

  test('is of this table, of this key and of no text that looks like one', () => {
    const row = sample(table);
    const seal = seals.sealRow(table, row);
    const other = createRowSeals(() => Buffer.alloc(32, 2));
    expect(other.holdsRow(table, { ...row, seal })).toBe(false);
    for (const wrong of [null, '', seal.slice(1), `${seal}A`, 'A'.repeat(43)]) {
      expect(seals.holdsRow(table, { ...row, seal: wrong })).toBe(false);
    }
    expect(new Set(TABLES.map((each) => seals.sealRow(each, { ...sample(each), ...row }))).size).toBe(
      TABLES.length,
    );
  });

  test('is over every column, but for those that give no right', async () => {
    const [sqlite] = ENGINES;
    const database = await sqlite?.open();
    const tables = await database?.read.introspection.getTables();
    const columns = tables?.find(({ name }) => name === table)?.columns.map(({ name }) => name);
    const known = [...SEALED_COLUMNS[table], ...(OPEN[table] ?? []), 'seal'];
    expect(columns?.toSorted()).toEqual(known.toSorted());
  });
});

test('values that touch are told apart: none runs into the next', () => {
  const row = sample('setup_links');
  const seal = seals.sealRow('setup_links', { ...row, id: 'a","b', secret_hash: 'c' });
  const moved = { ...row, id: 'a', secret_hash: 'b","c', seal };
  expect(seals.holdsRow('setup_links', moved)).toBe(false);
});

test('a row that lacks a column is no row to seal', () => {
  expect(() => seals.sealRow('setup_links', { id: 'x' })).toThrow('secret_hash');
});

describe.each(ENGINES)('the seals of a database, on $name', (engine) => {
  test('are those that it was opened with, in its reads and its transactions', async () => {
    const database = await engine.open({ seals });
    const other = await engine.open();
    expect(database.read.seals).toBe(seals);
    expect(other.read.seals).not.toBe(seals);
    await database.transact(async (tx) => {
      expect(tx.seals).toBe(seals);
      await sql`SELECT 1`.execute(tx);
    });
    await other.transact(async (tx) => expect(tx.seals).toBe(other.read.seals));
  });

  test('cannot be left out', () => {
    // @ts-expect-error: no database opens without seals
    const options: DatabaseOptions = { beforeCommit: async () => {} };
    expect(options.seals).toBeUndefined();
  });
});
