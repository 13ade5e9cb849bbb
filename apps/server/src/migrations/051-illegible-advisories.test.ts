import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { migrate } from '../platform/db/migrate.ts';
import { ENGINES } from '../testing/engines.ts';
import { MIGRATIONS } from './migrations.ts';

const now = () => 1_000;

describe.each(ENGINES)(
  'snapshots that were loaded before illegible records were kept, on $name',
  (engine) => {
    test.each([
      [0, '[]', 500, 700],
      // Nobody knows which they were: nothing is clear until all is loaded anew.
      [2, '["unknown"]', 0, 0],
    ])('with %i bad records', async (bad, illegible, loadedAtMs, checkedAtMs) => {
      const database = await engine.openEmpty();
      await migrate(database, { migrations: MIGRATIONS.filter((m) => m.version < 51), now });
      await database.transact(async (tx) => {
        await sql`INSERT INTO mirror_snapshots (base, load_id, releases, source, modified_mark, sha256, as_of, as_of_kind,
        loaded_at, records, bad_records)
        VALUES ('Debian', 1, '["Debian:12"]', 'x', '2026-01-01T00:00:00Z', 'x', 500, 'fetched', 500, 10, ${bad})`.execute(
          tx,
        );
        const check = {
          ecosystem: 'Debian:12',
          version: '1',
          reason: null,
          advisory_ids: '[]',
          checked_at: 700,
        };
        await tx
          .insertInto('advisory_checks')
          .values([
            { ...check, name: 'a', verdict: 'clear', source: 'mirror', snapshot: 'x' },
            { ...check, name: 'b', verdict: 'clear', source: 'api', snapshot: null },
            { ...check, name: 'c', verdict: 'vulnerable', source: 'mirror', snapshot: 'x' },
          ])
          .execute();
      });
      await migrate(database, { migrations: MIGRATIONS.filter((m) => m.version <= 51), now });
      const [snapshot] = await database.read.selectFrom('mirror_snapshots').selectAll().execute();
      expect(snapshot).toMatchObject({ illegible, loaded_at: loadedAtMs, bad_records: bad });
      const checks = await database.read.selectFrom('advisory_checks').selectAll().orderBy('name').execute();
      expect(checks.map((one) => one.checked_at)).toEqual([checkedAtMs, 700, 700]);
    });
  },
);
