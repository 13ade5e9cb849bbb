import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { exchange } from './exchange.ts';
import { type BenchServer, startFleet } from './fleet.ts';
import { INTERVAL_MS, RENEWS_EACH } from './minute-agents.ts';
import { memoryOf } from './processes.ts';
import { renewRequest } from './renewals.ts';
import { flagsOf } from './rounds.ts';
import { cpuBetween, pointOf, type Scenario } from './scenario.ts';

/** Parts of the whole time before the measurement begins. */
const WARM_UP = 0.25;

/**
 * Renewals as a fleet that polls once a minute brings them: a ninth of the agents in a minute, one after the other, each on a
 * connection of its own and on disk before its answer.
 */
export const measurePacedRenewals: Scenario = async (of, { floor, options }) => {
  const fleet = await startFleet(of.engine, { agents: of.agents, nodeFlags: flagsOf(of.engine) });
  if ('missing' in fleet) return fleet;
  try {
    const seconds = options.rounds * options.seconds;
    const renew = renewalsAtPace(fleet);
    await renew(seconds * WARM_UP);
    const helloUs = [await floor.costUs(options.seconds)];
    const before = fleet.cpuUs();
    const { tookMs, refused } = await renew(seconds);
    const cpu = cpuBetween(before, fleet.cpuUs());
    helloUs.push(await floor.costUs(options.seconds));
    if (tookMs.length === 0) throw new Error(`no renewal was answered: ${JSON.stringify(refused)}`);
    const rssMb = Math.round(memoryOf(fleet.pid).rssKb / 1_024);
    const point = { of, scenario: 'renewals, paced', tookMs, seconds, cpu, helloUs, rssMb, more: refused };
    return [pointOf(point)];
  } finally {
    await fleet.stop();
  }
};

/** Has the agents of a fleet renew for some seconds, each in its turn, and goes on with the next ones the next time. */
function renewalsAtPace({ url, agents }: BenchServer) {
  const { hostname: host, port } = new URL(url);
  const perMs = agents.length / RENEWS_EACH / INTERVAL_MS;
  const tokens = agents.map(({ machineId, refreshToken }) => ({ machineId, token: refreshToken }));
  let next = 0;

  async function renewOne(one: (typeof tokens)[number]): Promise<number> {
    const startMs = performance.now();
    const socket = connect({ host, port: Number(port), noDelay: true });
    try {
      const answer = await exchange(socket, renewRequest({ ...one, requestId: randomUUID() }));
      one.token = JSON.parse(answer.toString('utf8', answer.indexOf('\r\n\r\n') + 4)).refresh_token;
      return performance.now() - startMs;
    } finally {
      socket.destroy();
    }
  }

  return async (seconds: number) => {
    const tookMs: number[] = [];
    const refused: Record<string, number> = {};
    const all: Promise<void>[] = [];
    const beginMs = performance.now();
    const count = Math.max(1, Math.round(seconds * 1_000 * perMs));
    for (let n = 0; n < count; await pause(2)) {
      for (const due = (performance.now() - beginMs) * perMs; n < count && n <= due; n++) {
        const one = tokens[next++ % tokens.length];
        if (!one) throw new Error('a fleet without agents renews nothing');
        const renewing = renewOne(one).then(
          (ms) => void tookMs.push(ms),
          (error: unknown) => {
            const why = /HTTP\/1.1 (\d+)/.exec(String(error))?.[1] ?? 'fault';
            refused[why] = (refused[why] ?? 0) + 1;
          },
        );
        all.push(renewing);
      }
    }
    await Promise.all(all);
    return { tookMs, refused };
  };
}
