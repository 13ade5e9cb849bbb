import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { scopeText } from '@tidegate/terminal/words';
import { describe, expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { scopeOf } from './scope-words.ts';

describe.each(ENGINES)('hosts that a command names, on $name', (engine) => {
  async function open() {
    const database = await engine.open();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const { agentId: other } = await insertTestAgent(database, { n: 2 });
    const rename = (id: string, hostname: string) =>
      database.transact((tx) => tx.updateTable('agents').set({ hostname }).where('id', '=', id).execute());
    await rename(agentId, 'web1');
    await rename(other, 'web2');
    return { db: database.read, database, agentId, other, rename };
  }

  test('are all of them, or those of groups, or those named by id or whole name, each once', async () => {
    const { db, agentId, other } = await open();
    expect(await scopeOf(db, {})).toEqual({ kind: 'all' });
    expect(await scopeOf(db, { group: ['a', 'a'], host: ['web1', agentId, 'web2'] })).toEqual({
      ...{ kind: 'some', groups: ['a'], hosts: [agentId, other] },
    });
    expect(await scopeOf(db, { tag: ['env=prod', 'env=prod'] })).toEqual({
      ...{ kind: 'some', groups: [], hosts: [], tags: ['env=prod'] },
    });
  });

  test('are not guessed', async () => {
    const { db, database, agentId, other, rename } = await open();
    await expect(scopeOf(db, { host: ['web'] })).rejects.toThrow('there is no host "web"');
    await rename(other, 'web1');
    await expect(scopeOf(db, { host: ['web1'] })).rejects.toThrow('several hosts are named "web1"');
    await database.transact((tx) =>
      tx.updateTable('agents').set({ deleted_at: 1 }).where('id', '=', other).execute(),
    );
    expect(await scopeOf(db, { host: ['web1'] })).toMatchObject({ hosts: [agentId] });
  });
});

test.each<[PolicyScope, string]>([
  [{ kind: 'all' }, 'all hosts'],
  [{ kind: 'some', groups: ['a', 'b'], hosts: [] }, 'groups a, b'],
  [{ kind: 'some', groups: ['a'], hosts: ['1', '2'] }, 'groups a and 2 hosts'],
  [{ kind: 'some', groups: [], hosts: ['1'] }, '1 host'],
  [
    { kind: 'some', groups: ['a'], hosts: [], tags: ['env=prod', 'role=db'] },
    'groups a and tags env=prod, role=db',
  ],
])('%j is called %s', (scope, text) => {
  expect(scopeText(scope)).toBe(text);
});
