import { describe, expect, test } from 'vitest';
import type { Request } from '../testing/app-clients.ts';
import { ENGINES } from '../testing/engines.ts';
import { type IncidentScene, openIncidentScene } from '../testing/incident-scene.ts';

/** Rounds of each interleaving: the engine decides which of the two comes first. */
const ROUNDS = 5;

describe.each(ENGINES)('E2 on $name', (engine) => {
  async function open() {
    const scene = await openIncidentScene(engine);
    const { agent, asAdmin, database } = scene;
    return {
      ...scene,
      rebind: (body: object = { reason: 'new board' }): Request =>
        asAdmin(`/api/admin/agents/${agent.agentId}/rebind-machine-id`, body),
      machineOf: async (id = agent.agentId) => {
        const query = database.read.selectFrom('agents').select(['machine_id', 'bound_at']);
        return query.where('id', '=', id).executeTakeFirstOrThrow();
      },
      /** The log entries about the binding, oldest first. */
      async story(): Promise<string[]> {
        const rows = await database.read.selectFrom('events').selectAll().orderBy('position').execute();
        return rows.filter(({ type }) => BINDING.includes(type)).map(({ type }) => type);
      },
    };
  }

  test.each([{}, { reason: '' }, { reason: ' \n' }, { reason: 7 }, { reason: 'x'.repeat(1_001) }])(
    'a rebind with %j is refused and changes nothing',
    async (body) => {
      const { send, rebind, machineOf, story } = await open();
      expect((await send(rebind(body))).code).toBe('invalid_request');
      expect((await machineOf()).machine_id).toBe('machine-1');
      expect(await story()).toEqual([]);
    },
  );

  test('an unbound agent reaches only check-in and renewal, and without a machine not even these', async () => {
    const { send, must, rebind, checkIn, renewal, asAgent, agent, machineOf } = await open();
    await must(rebind());
    expect(await machineOf()).toEqual({ machine_id: null, bound_at: null });
    const event = { type: 'AGENT_ERROR', severity: 'info', message: 'x', at: '2026-11-21T09:00:00Z' };
    expect((await send(asAgent('/events', { events: [event] }))).code).toBe('binding_pending');
    const { machineId: _, ...bare } = checkIn();
    expect((await send(bare)).status).toBe(403);
    const { machineId: __, ...bareRenewal } = renewal(agent.refreshToken);
    expect((await send(bareRenewal)).code).toBe('MACHINE_ID_MISMATCH');
    expect((await machineOf()).machine_id).toBeNull();
  });

  test.each(['check-in', 'renewal'] as const)(
    '%s does not bind another agent’s machine: refused with an event, and the tokens stay valid',
    async (by) => {
      const { send, must, enrol, rebind, checkIn, renewal, agent, machineOf, story } = await open();
      await enrol('machine-2');
      await must(rebind());
      const request = by === 'renewal' ? renewal(agent.refreshToken) : checkIn();
      const answer = await send({ ...request, machineId: 'machine-2' });
      expect(answer.code).toBe(by === 'renewal' ? 'MACHINE_ID_MISMATCH' : 'conflict');
      expect((await machineOf()).machine_id).toBeNull();
      expect(await story()).toEqual(['MACHINE_REBOUND', 'MACHINE_ID_MISMATCH']);
      await must({ ...renewal(agent.refreshToken), machineId: 'machine-3' });
      expect((await machineOf()).machine_id).toBe('machine-3');
    },
  );

  // I15: in either order, a 200 never leaves an agent without a machine that its own 200 would have bound.
  test.each([
    ['renewal', (scene: IncidentScene) => scene.renewal(scene.agent.refreshToken)],
    ['check-in', (scene: IncidentScene) => scene.checkIn()],
  ])('I15: a rebind and a %s at once are serialised', async (_, requestOf) => {
    for (let round = 0; round < ROUNDS; round++) {
      const scene = await open();
      const { send, rebind, machineOf, story } = scene;
      const [answer, rebound] = await Promise.all([send(requestOf(scene)), send(rebind())]);
      expect([answer.status, rebound.status]).toEqual([200, 200]);
      const { machine_id: machineId } = await machineOf();
      // Answered before, then unbound; or unbound, then bound to the request's machine, with its event.
      expect([machineId, await story()]).toEqual(
        machineId === null
          ? [null, ['MACHINE_REBOUND']]
          : ['machine-1', ['MACHINE_REBOUND', 'MACHINE_BOUND']],
      );
    }
  });

  test('two machines for one unbound agent at once: one is bound, once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { send, must, rebind, checkIn, renewal, agent, machineOf, story } = await open();
      await must(rebind());
      const answers = await Promise.all([
        send({ ...checkIn(), machineId: 'machine-a' }),
        send({ ...renewal(agent.refreshToken), machineId: 'machine-b' }),
      ]);
      const bound = answers.map(({ status }) => status === 200);
      expect(bound.filter(Boolean).length).toBe(1);
      expect((await machineOf()).machine_id).toBe(bound[0] ? 'machine-a' : 'machine-b');
      expect((await story()).filter((type) => type === 'MACHINE_BOUND').length).toBe(1);
    }
  });

  test('two unbound agents with one machine at once: only one is bound to it', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { send, must, enrol, asAdmin, rebind, checkIn, agent, machineOf } = await open();
      const other = await enrol('machine-2');
      await must(rebind());
      await must(asAdmin(`/api/admin/agents/${other.agentId}/rebind-machine-id`, { reason: 'new board' }));
      const answers = await Promise.all([
        send({ ...checkIn(), machineId: 'machine-9' }),
        send({ ...checkIn({}, other), machineId: 'machine-9' }),
      ]);
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
      const machines = [await machineOf(agent.agentId), await machineOf(other.agentId)];
      expect(machines.map(({ machine_id: id }) => id).toSorted()).toEqual(['machine-9', null]);
    }
  });
});

const BINDING = ['MACHINE_REBOUND', 'MACHINE_BOUND', 'MACHINE_ID_MISMATCH'];
