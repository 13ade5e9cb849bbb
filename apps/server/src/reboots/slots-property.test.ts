import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createRebootScene, type SceneHost } from '../testing/reboot-scene.ts';

const isLong = process.env.TIDEGATE_LONG === '1';
const RUNS = isLong ? 400 : 12;
const MINUTE_MS = 60_000;
const SKEW_MS = 5 * MINUTE_MS;
const HOSTS = 6;

/** What one host really does; the server knows only what it is told. */
interface Real {
  readonly host: SceneHost;
  isUp: boolean;
  boots: number;
  isWell: boolean;
  seenMs: number;
  /** The command that it may still begin. */
  order: { id: string; endMs: number } | null;
  /** It went down, and the server has not yet seen it come back well. */
  isOut: boolean;
}

const host = fc.nat(HOSTS - 1);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('turn' as const) }) },
  // Every host that is up checks in.
  { weight: 4, arbitrary: fc.record({ do: fc.constant('beat' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('down' as const, 'up' as const), at: host }) },
  fc.record({ do: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ do: fc.constantFrom('fetch' as const, 'cancel' as const), at: host }),
  fc.record({ do: fc.constantFrom('refuse' as const, 'interrupt' as const, 'fail' as const), at: host }),
  fc.record({ do: fc.constantFrom('green' as const, 'green' as const, 'red' as const), at: host }),
);

test('whatever hosts, operators and time do: never more down than allowed, never too few well, and nobody is lost', async () => {
  const [engine] = ENGINES;
  if (!engine) throw new Error('no engine');
  let downs = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 40, maxLength: 100, size: 'max' }),
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, max_at_once, min_healthy, halt_after) => {
        const it = await createRebootScene(engine);
        const { clock } = it.platform;
        const real: Real[] = [];
        for (let n = 1; n <= HOSTS; n++) {
          const one = await it.host(n);
          real.push({
            ...{ host: one, isUp: true, boots: 1, isWell: true, seenMs: clock.now() },
            ...{ order: null, isOut: false },
          });
        }
        await it.call('PUT', '/api/v1/reboot-slots', { group: 'web', max_at_once, min_healthy, halt_after });
        await it.ask();

        const isLive = ({ order }: Real) => order !== null && clock.now() <= order.endMs + SKEW_MS;
        async function checkIn(one: Real) {
          one.seenMs = clock.now();
          const known = await it.open();
          const others = real.filter(
            (other) =>
              other !== one &&
              other.isUp &&
              other.isWell &&
              clock.now() - other.seenMs < 3 * MINUTE_MS &&
              !known.some(({ agent_id }) => agent_id === other.host.agentId),
          );
          for (const command of await one.host.fetch(one.order ? [one.order.id] : [])) {
            if (command.command_id === one.order?.id) continue;
            // Of a boot that is over: root refuses it as `already_rebooted`.
            if (command.action === 'reboot' && command.params.boot_id !== `boot-${one.boots}`) continue;
            expect(others.length, 'others are up and well').toBeGreaterThanOrEqual(min_healthy);
            one.order = { id: command.command_id, endMs: Date.parse(command.expires_at) };
          }
        }
        async function act(todo: (typeof steps)[number]) {
          if (todo.do === 'turn') return it.turn();
          if (todo.do === 'wait') return clock.advance(todo.minutes * MINUTE_MS);
          if (todo.do === 'beat') {
            for (const one of real) if (one.isUp) await checkIn(one);
            return;
          }
          const named = real[todo.at];
          const ofOrder = ['down', 'up', 'refuse', 'interrupt', 'fail'].includes(todo.do);
          // What takes a command, or a host that is down, happens to such a host if there is any.
          const fits = (other: Real) => (todo.do === 'up' ? !other.isUp : other.isUp && isLive(other));
          const one = ofOrder ? (real.find(fits) ?? named) : named;
          if (!one) throw new Error('no such host');
          if (todo.do === 'cancel') {
            const { body } = await it.call('GET', `/api/v1/reboots?agent_id=${one.host.agentId}`);
            await it.call('DELETE', `/api/v1/reboots/${body.items[0].id}`);
            return;
          }
          if (todo.do === 'up') {
            if (one.isUp) return;
            Object.assign(one, { isUp: true, boots: one.boots + 1, seenMs: clock.now() });
            return one.host.boot(`boot-${one.boots}`);
          }
          if (!one.isUp) return;
          if (todo.do === 'fetch') return checkIn(one);
          if (todo.do === 'green' || todo.do === 'red') {
            one.isWell = todo.do === 'green';
            return one.host.probes(todo.do);
          }
          if (!one.order || !isLive(one)) return;
          if (todo.do === 'down') {
            Object.assign(one, { isUp: false, isOut: true, order: null });
            downs++;
            return;
          }
          const { id } = one.order;
          one.order = null;
          const status = { refuse: 'refused', interrupt: 'interrupted', fail: 'failed' } as const;
          await one.host.says(id, { status: status[todo.do], reason: 'x' });
        }

        for (const todo of steps) {
          await act(todo);
          const open = await it.open();
          const holding = new Set(open.map(({ agent_id }) => agent_id));
          // Nobody releases slots here, so a host that is out without one was proven.
          for (const one of real) if (one.isUp && !holding.has(one.host.agentId)) one.isOut = false;
          expect(open.length).toBeLessThanOrEqual(max_at_once);
          const mayBeDown = real.filter((one) => !one.isUp || one.isOut || isLive(one));
          expect(mayBeDown.length, 'down, or free to go down').toBeLessThanOrEqual(max_at_once);
          for (const one of mayBeDown) expect(holding).toContain(one.host.agentId);
          expect(await it.states()).toHaveLength(HOSTS);
        }

        // All hosts are well for two days: the deadline is over, and each has come to an end.
        for (const one of real) await act({ do: 'up', at: real.indexOf(one) });
        for (let day = 0; day < 2; day++) {
          clock.advance(25 * 60 * MINUTE_MS);
          for (const one of real) {
            Object.assign(one, { order: null });
            await one.host.seen();
            await one.host.probes('green');
          }
          for (let n = 0; n < 3; n++) await it.turn();
        }
        expect((await it.states()).filter((said: string) => /queued|running/.test(said))).toEqual([]);
        expect((await it.open()).filter(({ state }) => state !== 'failed')).toEqual([]);
      },
    ),
    { numRuns: RUNS, seed: 15 },
  );
  expect(downs, 'hosts went down at all').toBeGreaterThan(RUNS / 2);
});
