import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { markFamilyRevoked } from '../agent-credentials/store.ts';
import { type Database, DatabaseFault } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { journaledDatabase } from './journaled-database.ts';
import { JOURNAL_FILE, openJournal, type RevocationJournal } from './revocation-journal.ts';

const REVOKED = { reason: 'operator', atMs: 5 };

async function open(engine: TestEngine) {
  const plain = await engine.open();
  const folder = tmpDir();
  onTestFinished(() => folder.remove());
  const opened = openJournal(folder.path);
  if (!opened.ok) throw new Error(opened.fault);
  const { journal } = opened;
  onTestFinished(journal.close);
  const { familyId } = await insertTestAgent(plain, { n: 1 });
  const text = () => readFileSync(join(folder.path, JOURNAL_FILE), 'utf8');
  const onKeySet = async () => {};
  return { plain, journal, familyId, text, database: journaledDatabase(plain, { journal, onKeySet }) };
}

async function statusOf(database: Database, familyId: string): Promise<string> {
  const { status } = await database.read
    .selectFrom('refresh_families')
    .select('status')
    .where('id', '=', familyId)
    .executeTakeFirstOrThrow();
  return status;
}

describe.each(ENGINES)('T20 on $name: a revocation and its line in the journal', (engine) => {
  test('the line is durable before the commit, so that a crash leaves one too many and never one too few', async () => {
    const { plain, journal, familyId, text, database } = await open(engine);
    const seen: string[] = [];
    const watching: RevocationJournal = {
      ...journal,
      append: (revocations) => {
        const added = journal.append(revocations);
        seen.push(text().includes(familyId) ? 'in the journal' : 'not there');
        return added;
      },
    };
    const watched = journaledDatabase(plain, { journal: watching, onKeySet: async () => {} });
    await watched.transact(async (tx) => {
      await markFamilyRevoked(tx, { familyId, ...REVOKED });
      expect(text()).not.toContain(familyId);
    });
    expect(seen).toEqual(['in the journal']);
    expect(await statusOf(database, familyId)).toBe('revoked');
    expect(journal.has('family', familyId, REVOKED.atMs)).toBe(true);
  });

  test('a revocation that is rolled back by its own work leaves no line', async () => {
    const { journal, familyId, database } = await open(engine);
    const failing = database.transact(async (tx) => {
      await markFamilyRevoked(tx, { familyId, ...REVOKED });
      throw new Error('the act failed');
    });
    await expect(failing).rejects.toThrow('the act failed');
    expect(journal.entries()).toEqual([]);
    expect(await statusOf(database, familyId)).toBe('active');
  });

  test('a failed commit removes its line; one whose answer was lost keeps it', async () => {
    const { plain, journal, familyId } = await open(engine);
    const broken = (when: 'before' | 'after'): Database => ({
      ...plain,
      async transact(work) {
        // Once: what looks at the rows afterwards gets through.
        broken.used++;
        if (broken.used !== 1) return plain.transact(work);
        const lost = new DatabaseFault('the connection is gone');
        await plain.transact(async (tx) => {
          await work(tx);
          if (when === 'before') throw lost;
        });
        throw lost;
      },
    });
    broken.used = 0;
    const revoke = (when: 'before' | 'after') =>
      journaledDatabase(broken(when), { journal, onKeySet: async () => {} }).transact((tx) =>
        markFamilyRevoked(tx, { familyId, ...REVOKED }),
      );
    await expect(revoke('before')).rejects.toThrow(DatabaseFault);
    expect(journal.entries()).toEqual([]);
    broken.used = 0;
    await expect(revoke('after')).rejects.toThrow(DatabaseFault);
    expect(journal.has('family', familyId)).toBe(true);
    expect(await statusOf(plain, familyId)).toBe('revoked');
  });

  test('without its line there is no revocation: 503, and nothing has changed', async () => {
    const { plain, journal, familyId } = await open(engine);
    const full: RevocationJournal = {
      ...journal,
      append(revocations) {
        if (revocations.length === 0) return [];
        throw new Error('ENOSPC');
      },
    };
    const database = journaledDatabase(plain, { journal: full, onKeySet: async () => {} });
    const revoking = database.transact((tx) => markFamilyRevoked(tx, { familyId, ...REVOKED }));
    await expect(revoking).rejects.toThrow(DatabaseFault);
    expect(await statusOf(plain, familyId)).toBe('active');
    expect(await database.transact(async () => 'others go on')).toBe('others go on');
  });
});
