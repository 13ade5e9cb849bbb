import { sql } from 'kysely';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { hasTag } from './filter-store.ts';
import { changeTags, saveReportedTags } from './tag-store.ts';

const HOSTS = 60;
const Plan = Type.Tuple([Type.Object({ Plan: Type.Object({ 'Plan Rows': Type.Number() }) })]);

test.each(ENGINES.filter(({ name }) => name === 'postgres'))(
  'PostgreSQL knows that most hosts have a tag, where each host is compared',
  async (engine) => {
    const database = await engine.open();
    for (let n = 0; n < HOSTS; n++) {
      const { agentId } = await insertTestAgent(database, { n });
      await database.transact(async (tx) => {
        await changeTags(tx, { agentId, set: ['env=prod'], remove: [], by: 'ada', atMs: 1 });
        await saveReportedTags(tx, { agentId, tags: ['host.env=prod'] });
      });
    }
    await database.transact((tx) => sql`ANALYZE agents, host_tags, host_reported_tags`.execute(tx));
    for (const tag of ['env=prod', 'host.env=prod']) {
      const { rows } = await sql<{ 'QUERY PLAN': unknown }>`EXPLAIN (FORMAT JSON)
        SELECT 1 FROM agents AS a WHERE ${hasTag(tag, 'many')}`.execute(database.read);
      const [{ Plan: plan }] = Value.Parse(Plan, rows[0]?.['QUERY PLAN']);
      expect(plan['Plan Rows'], tag).toBe(HOSTS);
    }
  },
);
