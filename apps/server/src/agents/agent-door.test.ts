import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { DatabaseFault } from '../platform/db/engine.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { type AgentDoorDeps, createAgentDoor } from './agent-door.ts';

const agentId = '01900000-0000-7000-8000-000000000001';
const familyId = '01900000-0000-7000-9000-000000000001';
const asked = { access: { kind: 'agent', limit: 'agent_checkin' }, pathAgentId: agentId } as const;

function request(): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  message.headers = { authorization: 'Bearer token', 'x-machine-id': 'machine-1' };
  return message;
}

/** A door with a genuine token, and the steps that it took. */
function createDoor(readCaller: AgentDoorDeps['readCaller']) {
  const steps: string[] = [];
  const door = createAgentDoor({
    config: { minAgentVersion: null },
    accessTokens: {
      verify: () => {
        steps.push('token');
        if (!isAgentId(agentId)) throw new Error('no id');
        return { ok: true, agentId, familyId };
      },
    },
    limiter: {
      take: () => {
        steps.push('limit');
        return { ok: true, limit: 60, remaining: 59, resetSeconds: 60 };
      },
    },
    readCaller: (key) => {
      steps.push('database');
      return readCaller(key);
    },
  });
  return { door, steps };
}

test('a request is checked once, in order, and counted once, however often it enters', async () => {
  const { door, steps } = createDoor(async () => null);
  const one = request();
  const entries = await Promise.all([door.enter(one, asked), door.enter(one, asked)]);
  expect(entries[0]).toBe(entries[1]);
  expect(await door.enter(one, asked)).toBe(entries[0]);
  expect(steps).toEqual(['token', 'limit', 'database']);
  await door.enter(request(), asked);
  expect(steps).toHaveLength(6);
});

test('an unreadable database lets nobody in: every call rejects', async () => {
  const { door } = createDoor(() => Promise.reject(new DatabaseFault('away')));
  const one = request();
  await expect(door.enter(one, asked)).rejects.toThrow(DatabaseFault);
  await expect(door.enter(one, asked)).rejects.toThrow(DatabaseFault);
});
