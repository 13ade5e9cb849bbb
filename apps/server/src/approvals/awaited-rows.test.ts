import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { findBrokenSeals } from '../platform/db/seal-rows.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { findUpdate } from '../updates/store.ts';
import { setDigest } from '../updates/update-set.ts';
import { sweepOnce } from './sweep.ts';

/** Attacks by somebody who can write to the database and has none of the keys: approving in an operator's name. */

/** An update with a clear plan that nobody has approved. */
async function unasked(it: ApprovalsApp): Promise<string> {
  const id = await it.addUpdate({ name: 'curl' });
  await run(it, `UPDATE updates SET state = 'awaiting_plan' WHERE id = '${id}'`);
  return id;
}

/** An update that ada approved before its plan was there. */
async function asked(it: ApprovalsApp): Promise<string> {
  const id = await it.addUpdate({ plan: null });
  expect((await it.approve(id)).status).toBe(202);
  await it.addPlan([id], [actionOf({ name: 'openssl', version: '3.0.12-1', ecosystem: 'apt' })]);
  return id;
}

const run = ({ database }: ApprovalsApp, statement: string) =>
  database.transact((tx) => sql.raw(statement).execute(tx));

const insert = ({ database, platform }: ApprovalsApp, update_id: string, set: readonly string[]) =>
  writeRaw(database, 'awaited_updates', {
    ...{ update_id, set_sha256: setDigest(set), asked_by: 'ada', asked_at: platform.now(), round: 0 },
  });

async function approversOf({ database }: ApprovalsApp): Promise<string[]> {
  const rows = await database.read.selectFrom('approvals').select('approved_by').execute();
  return rows.map(({ approved_by }) => approved_by);
}

async function brokenOf({ database }: ApprovalsApp): Promise<string[]> {
  return (await findBrokenSeals(database.read)).map(({ table, row }) => `${table} ${row}`);
}

describe.each(ENGINES)('a row of an update that waits for its plan, on $name', (engine) => {
  test('mints nothing when another program added it', async () => {
    const it = await createApprovalsApp(engine);
    const id = await unasked(it);
    await insert(it, id, [id]);
    await sweepOnce(it.deps);
    expect(await approversOf(it)).toEqual([]);
    expect(await brokenOf(it)).toEqual([`awaited_updates ${id}`]);
  });

  test('mints nothing with the seal of another row', async () => {
    const it = await createApprovalsApp(engine);
    const [id, other] = [await unasked(it), await asked(it)];
    await insert(it, id, [id]);
    await run(
      it,
      `UPDATE awaited_updates SET seal = (SELECT w.seal FROM awaited_updates w WHERE w.update_id = '${other}')
        WHERE update_id = '${id}'`,
    );
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'awaiting_plan' });
    expect(await findUpdate(it.database.read, other)).toMatchObject({ state: 'approved' });
  });

  test.each([
    "asked_by = 'grace'",
    'asked_at = asked_at + 1',
    'round = 1',
    `set_sha256 = '${'a'.repeat(64)}'`,
  ])('mints nothing with %s', async (change) => {
    const it = await createApprovalsApp(engine);
    const id = await asked(it);
    await run(it, `UPDATE awaited_updates SET ${change}`);
    await sweepOnce(it.deps);
    expect(await approversOf(it)).toEqual([]);
    expect(await brokenOf(it)).toEqual([`awaited_updates ${id}`]);
  });

  test('is written anew by an operator who approves again, who is then accountable', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate({ plan: null });
    expect((await it.approve(id)).status).toBe(202);
    await run(it, "UPDATE awaited_updates SET asked_by = 'grace'");
    expect((await it.approve(id)).status).toBe(202);
    expect(await brokenOf(it)).toEqual([]);
    await it.addPlan([id], [actionOf({ name: 'openssl', version: '3.0.12-1', ecosystem: 'apt' })]);
    await sweepOnce(it.deps);
    expect(await approversOf(it)).toEqual(['ada']);
  });

  test('joins no set that an operator asked for', async () => {
    const it = await createApprovalsApp(engine);
    const [id, other] = [await asked(it), await unasked(it)];
    await insert(it, other, [id]);
    await sweepOnce(it.deps);
    expect(await approversOf(it)).toEqual(['ada']);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'approved' });
    expect(await findUpdate(it.database.read, other)).toMatchObject({ state: 'awaiting_plan' });
  });

  test('keeps no other set from its turn, however many were added before it', async () => {
    const it = await createApprovalsApp(engine);
    const id = await asked(it);
    for (let n = 0; n < 101; n += 1) {
      const forged = await it.addUpdate({ name: `p${n}`, plan: null });
      await run(it, `UPDATE updates SET state = 'awaiting_plan' WHERE id = '${forged}'`);
      const row = { update_id: forged, set_sha256: `0${n}`, asked_by: 'ada', asked_at: 1, round: 0 };
      await writeRaw(it.database, 'awaited_updates', row);
    }
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'approved' });
  });
});
