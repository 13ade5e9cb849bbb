import { expect, test } from 'vitest';
import { insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { openCallers, send } from '../testing/row-callers.ts';
import { createTestApp } from '../testing/test-app.ts';
import { queueCommand } from './queue-command.ts';

test.each(ENGINES)(
  'an agent that is too old sends the result of its own update and of no other, on $name',
  async (engine) => {
    const app = await createTestApp(engine, { minAgentVersion: '1.0.0' });
    const { database, now } = app.platform;
    const old = (await openCallers(app)).find(({ name }) => name === 'agent of ours');
    const { agentId } = old ?? {};
    if (old === undefined || agentId === undefined) throw new Error('no agent among the callers');
    const expiresAtMs = now() + 1_000_000;
    const [other, own] = [
      await insertTestUpdate(database, { agentId, n: 901, state: 'approved', expiresAtMs }),
      await insertTestUpdate(database, { agentId, n: 902, state: 'approved', expiresAtMs }),
    ];
    const queue = ({ approval, params }: typeof own) =>
      database.transact((tx) =>
        queueCommand(tx, app.platform, {
          agentId,
          action: 'install_update',
          params,
          approval,
          createdBy: 'ada',
        }),
      );
    const ids = [await queue(other), await queue(own)];
    await database.transact(async (tx) => {
      await tx.updateTable('agents').set({ agent_version: '0.9.0' }).where('id', '=', agentId).execute();
      await tx.updateTable('updates').set({ ecosystem: 'tidegate' }).where('id', '=', own.updateId).execute();
      await tx.updateTable('agent_commands').set({ status: 'sent' }).where('id', 'in', ids).execute();
    });
    const answers = [];
    for (const id of ids) {
      const url = `/api/v1/agents/${agentId}/commands/${id}/result`;
      answers.push(await send(app, old, { method: 'POST', url, body: { status: 'running' } }));
    }
    expect(answers.map(({ status }) => status)).toEqual([426, 200]);
  },
);
