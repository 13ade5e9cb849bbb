import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';

const HOSTS = 24;
const FLAGGED = { name: 'zlib', version: '1.3-1' };

/** Counts the transactions that are run again because they lost a deadlock. */
function counting() {
  const runs = { again: 0 };
  const wrap = (database: Database): Database => ({
    ...database,
    transact: (work) => {
      let run = 0;
      return database.transact((tx) => {
        run += 1;
        if (run > 1) runs.again += 1;
        return work(tx);
      });
    },
  });
  return { runs, wrap };
}

describe.each(ENGINES)('two bulk requests at once, in opposite orders, on $name', (engine) => {
  /** Hosts with two updates that pass, one that the gate stops, and two without a plan. */
  async function scene() {
    const { runs, wrap } = counting();
    const it = await createApprovalsApp(engine, { wrap });
    it.vulnerable(FLAGGED);
    const clear: string[] = [];
    const others: string[] = [];
    const flagged: string[] = [];
    const unplanned: string[] = [];
    const unplannedToo: string[] = [];
    for (let n = 0; n < HOSTS; n++) {
      const { agentId } = await insertTestAgent(it.database, { n: 100 + n });
      clear.push(await it.addUpdate({ agentId }));
      others.push(await it.addUpdate({ agentId, name: 'curl' }));
      flagged.push(await it.addUpdate({ agentId, ...FLAGGED }));
      unplanned.push(await it.addUpdate({ agentId, name: 'vim', plan: null }));
      unplannedToo.push(await it.addUpdate({ agentId, name: 'nano', plan: null }));
    }
    // What is judged needs no wait, so that both write at once.
    await it.call('POST', '/api/v1/updates/approve/preview', {
      update_ids: [...clear, ...others, ...flagged],
    });
    const together = async (first: readonly string[], second: readonly string[]) => {
      const answers = await Promise.all(
        [first, second].map((update_ids) => it.call('POST', '/api/v1/updates/approve', { update_ids })),
      );
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      return answers.map(({ body }) => body);
    };
    const column = async (name: 'state' | 'blocked', ids: readonly string[]) => {
      const rows = await it.database.read.selectFrom('updates').select(name).where('id', 'in', ids).execute();
      return [...new Set(rows.map((row) => row[name]))];
    };
    return { runs, clear, others, flagged, unplanned, unplannedToo, together, column };
  }

  test('both stop the same updates', async () => {
    const { runs, flagged, together, column } = await scene();
    for (let round = 0; round < 5; round++) {
      const bodies = await together(flagged, flagged.toReversed());
      for (const { blocked } of bodies) expect(blocked).toHaveLength(HOSTS);
    }
    expect(await column('blocked', flagged)).toEqual([1]);
    expect(runs.again).toBe(0);
  });

  test('both approve and stop the same updates: each is approved once', async () => {
    const { runs, clear, flagged, together, column } = await scene();
    const all = clear.flatMap((id, i) => [id, flagged[i] ?? '']);
    const bodies = await together(all, all.toReversed());
    const approved = bodies.flatMap((body) =>
      body.approved.map((one: { update_id: string }) => one.update_id),
    );
    expect(approved.toSorted()).toEqual(clear.toSorted());
    expect(await column('blocked', flagged)).toEqual([1]);
    expect(await column('state', clear)).toEqual(['approved']);
    expect(runs.again).toBe(0);
  });

  test('one stops what the other approves beside it, on the same hosts', async () => {
    const { runs, clear, flagged, together, column } = await scene();
    await together([...flagged, ...clear.slice(0, 1)], clear.toReversed());
    expect(await column('blocked', flagged)).toEqual([1]);
    expect(await column('state', clear)).toEqual(['approved']);
    expect(runs.again).toBe(0);
  });

  test('both let the same updates wait for their plans', async () => {
    const { runs, unplanned, together, column } = await scene();
    const bodies = await together(unplanned, unplanned.toReversed());
    for (const { awaiting_plan } of bodies) expect(awaiting_plan).toHaveLength(HOSTS);
    expect(await column('state', unplanned)).toEqual(['awaiting_plan']);
    expect(runs.again).toBe(0);
  });

  test('both let updates of the same hosts wait, each another one', async () => {
    const { runs, unplanned, unplannedToo, together, column } = await scene();
    await together(unplanned, unplannedToo.toReversed());
    expect(await column('state', [...unplanned, ...unplannedToo])).toEqual(['awaiting_plan']);
    expect(runs.again).toBe(0);
  });

  test('both approve, each another update of the same hosts', async () => {
    const { runs, clear, others, together, column } = await scene();
    await together(clear, others.toReversed());
    expect(await column('state', [...clear, ...others])).toEqual(['approved']);
    expect(runs.again).toBe(0);
  });
});
