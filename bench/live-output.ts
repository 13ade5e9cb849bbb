import { once } from 'node:events';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { insertUpdates } from './approvable-updates.ts';
import { atRest } from './at-rest.ts';
import { approveAll } from './fan-out.ts';
import { type BenchServer, startFleet } from './fleet.ts';
import { agentRequest } from './form-request.ts';
import { createKeptSockets } from './kept-sockets.ts';
import { logIn } from './operator-client.ts';
import { memoryOf } from './processes.ts';
import { flagsOf } from './rounds.ts';
import { cpuBetween, pointOf, type Scenario } from './scenario.ts';
import { paced } from './send.ts';
import { createWaitingHost } from './waiting-host.ts';

/** Commands that write output at once, with an operator who watches each; the server allows 200. */
const STREAMS = 100;
/** An agent sends a piece a second. */
const EVERY_MS = 1_000;
const PIECE_CHARS = 1_024;
/** After the last piece, a watcher has all of them within this. */
const LATE_MAX_MS = 30_000;

const Piece = Type.Object({ data: Type.String() });

/**
 * 100 commands whose output of 1 kB a second is watched in the console. How long after it is sent each piece arrives at its watcher; CPU
 * of a piece. Fails if a piece is lost.
 */
export const measureLiveOutput: Scenario = async (of, { floor, options }) => {
  const count = Math.min(of.agents, STREAMS);
  const fleet = await startFleet(of.engine, {
    agents: of.agents,
    nodeFlags: flagsOf(of.engine),
    prepare: (database, agentIds) => insertUpdates(database, { agentIds: agentIds.slice(0, count), each: 1 }),
  });
  if ('missing' in fleet) return fleet;
  const sockets = createKeptSockets(fleet.url);
  const over = new AbortController();
  try {
    const call = await logIn(fleet.url);
    await approveAll(call, count);
    const hosts = fleet.agents.slice(0, count).map(createWaitingHost);
    for (const host of hosts) host.read(await sockets.ask(host.request()));
    await atRest(() => fleet.cpuUs().server);
    const helloUs = [await floor.costUs(options.seconds)];
    const tookMs: number[] = [];
    const { token } = call;
    const { signal } = over;
    for (const { commandIds } of hosts)
      await watch(fleet, { commandId: commandIds[0] ?? '', token, signal, onDelay: (ms) => tookMs.push(ms) });
    const before = fleet.cpuUs();
    const beginMs = performance.now();
    const endMs = beginMs + options.rounds * options.seconds * 1_000;
    let sent = 0;
    await Promise.all(
      hosts.map(({ agent, commandIds }, n) =>
        paced({ everyMs: EVERY_MS, beginMs: beginMs + (n * EVERY_MS) / count, endMs }, async (seq) => {
          const path = `/commands/${commandIds[0]}/output`;
          const data = `${performance.now()} `.padEnd(PIECE_CHARS, 'x');
          sent++;
          const body = JSON.stringify({ seq, stream: 'stdout', data });
          await sockets.ask(agentRequest(agent, { method: 'POST', path, body }));
        }),
      ),
    );
    for (const untilMs = performance.now() + LATE_MAX_MS; tookMs.length < sent; await pause(10))
      if (performance.now() > untilMs) throw new Error(`${sent - tookMs.length} of ${sent} pieces are lost`);
    const seconds = (performance.now() - beginMs) / 1_000;
    const cpu = cpuBetween(before, fleet.cpuUs());
    helloUs.push(await floor.costUs(options.seconds));
    options.say(`${of.engine}: ${sent} pieces of ${count} commands, all seen`);
    const rssMb = Math.round(memoryOf(fleet.pid).rssKb / 1_024);
    return [pointOf({ of, scenario: 'live-output', tookMs, seconds, cpu, helloUs, rssMb })];
  } finally {
    over.abort();
    sockets.close();
    await fleet.stop();
  }
};

/** Opens the stream of a command as the console does. */
async function watch(
  { url }: BenchServer,
  one: { commandId: string; token: string; signal: AbortSignal; onDelay: (ms: number) => void },
): Promise<void> {
  const { commandId, token, signal, onDelay } = one;
  const request = get(`${url}/api/v1/commands/${commandId}/output`, {
    headers: { authorization: `Bearer ${token}` },
    agent: false,
    signal,
  });
  const [answer] = await once(request, 'response');
  if (answer.statusCode !== 200) throw new Error(`a stream was answered ${answer.statusCode}`);
  for (const side of [request, answer])
    side.on('error', (error: Error) => {
      if (!signal.aborted) throw error;
    });
  createInterface({ input: answer })
    .on('error', () => {})
    .on('line', (line) => {
      if (!line.startsWith('data: {"seq"')) return;
      const { data } = Value.Parse(Piece, JSON.parse(line.slice('data: '.length)));
      onDelay(performance.now() - Number.parseFloat(data));
    });
}
