import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type BenchServer, startFleet } from './fleet.ts';
import { type Bring, INTERVAL_MS, type MinuteOptions, type MinuteTimes } from './minute-agents.ts';
import { peakOf } from './processes.ts';
import type { Figure } from './record.ts';
import { flagsOf } from './rounds.ts';
import { type Cpu, cpuBetween, type FleetOf, pointOf, quantilesOf, type Scenario } from './scenario.ts';

/** Agents of one process of the load: its limit of open files has to do for a connection of each. */
const AGENTS_OF_PROCESS = 16_000;
/** The first one opens what is kept, and warms the server; the last one counts. */
const INTERVALS = 2;
/** For the processes to read who their agents are. */
const START_MS = 5_000;

/**
 * All agents poll once a minute, each from an address of its own, and a ninth of them renew in it: on connections that they keep as
 * long as the server does (record 0092), and on one each time, each way on a server of its own. CPU of a check-in with its
 * connection and its part of the renewals; resident memory is the most since the server's start.
 */
export const measureMinute: Scenario = async (of, beside) => {
  const figures: Figure[] = [];
  for (const bring of ['kept', 'new'] as const) {
    const fleet = await startFleet(of.engine, { agents: of.agents, nodeFlags: flagsOf(of.engine) });
    if ('missing' in fleet) return fleet;
    try {
      figures.push(await measureOne(of, { fleet, bring, ...beside }));
    } finally {
      await fleet.stop();
    }
  }
  return figures;
};

async function measureOne(
  of: FleetOf,
  { fleet, bring, floor, options }: Parameters<Scenario>[1] & { fleet: BenchServer; bring: Bring },
): Promise<Figure> {
  const helloUs = [await floor.costUs(options.seconds)];
  const { cpu, times, dropped } = await runMinute(fleet, bring);
  helloUs.push(await floor.costUs(options.seconds));
  const { latenciesMs: tookMs, refused, kept, renewals } = times;
  if (tookMs.length === 0) throw new Error(`no check-in was answered: ${JSON.stringify(refused)}`);
  const share = (us: number) => Math.round((us * 100) / (INTERVAL_MS * 10)) / 100;
  const more = {
    ...{ 'core %, server': share(cpu.server), 'core %, with database': share(cpu.server + cpu.database) },
    ...{ renewals, 'on an open connection': kept, ...refused },
    'p99 ms, load late': quantilesOf(times.lateMs)(0.99),
    ...(times.connectMs.length > 0 && { 'p99 ms, connecting': quantilesOf(times.connectMs)(0.99) }),
    'p99 ms, answer': quantilesOf(times.answerMs)(0.99),
    'dropped by a full queue of the kernel': dropped,
  };
  options.say(`${of.engine}, ${bring}: ${JSON.stringify(more)}`);
  const rssMb = Math.round(peakOf(fleet.pid) / 1_024);
  const seconds = INTERVAL_MS / 1_000;
  return pointOf({ of, scenario: `minute, ${bring}`, tookMs, seconds, cpu, helloUs, rssMb, more });
}

async function runMinute(
  fleet: BenchServer,
  bring: Bring,
): Promise<{ cpu: Cpu; times: MinuteTimes; dropped: number }> {
  const beginAtMs = Date.now() + START_MS;
  const parts: Promise<MinuteTimes>[] = [];
  for (let firstIndex = 0; firstIndex < fleet.agents.length; firstIndex += AGENTS_OF_PROCESS) {
    const agents = fleet.agents.slice(firstIndex, firstIndex + AGENTS_OF_PROCESS);
    parts.push(runPart({ url: fleet.url, agents, firstIndex, bring, intervals: INTERVALS, beginAtMs }));
  }
  const all = Promise.all(parts);
  const untilMs = (count: number) => Math.max(0, beginAtMs + count * INTERVAL_MS - Date.now());
  await Promise.race([all, pause(untilMs(INTERVALS - 1))]);
  const [before, droppedBefore] = [fleet.cpuUs(), droppedConnections()];
  await Promise.race([all, pause(untilMs(INTERVALS))]);
  const cpu = cpuBetween(before, fleet.cpuUs());
  return { cpu, times: merged(await all), dropped: droppedConnections() - droppedBefore };
}

/** Connections of this machine that found the queue of a listening socket full, since its start: their client asks again a second later. */
function droppedConnections(): number {
  const [names = [], values = []] = readFileSync('/proc/net/netstat', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('ListenOverflows')]);
}

function runPart(options: MinuteOptions): Promise<MinuteTimes> {
  return new Promise((resolve, reject) => {
    const child = fork(join(import.meta.dirname, 'minute-process.ts'));
    child.once('message', (times: MinuteTimes) => resolve(times));
    child.once('exit', (code) => reject(new Error(`a process of the load ended with ${code}`)));
    child.send(options);
  });
}

function merged(parts: readonly MinuteTimes[]): MinuteTimes {
  const refused: Record<string, number> = {};
  for (const part of parts)
    for (const [why, count] of Object.entries(part.refused)) refused[why] = (refused[why] ?? 0) + count;
  return {
    latenciesMs: parts.flatMap(({ latenciesMs }) => latenciesMs),
    lateMs: parts.flatMap(({ lateMs }) => lateMs),
    connectMs: parts.flatMap(({ connectMs }) => connectMs),
    answerMs: parts.flatMap(({ answerMs }) => answerMs),
    refused,
    kept: parts.reduce((sum, { kept }) => sum + kept, 0),
    renewals: parts.reduce((sum, { renewals }) => sum + renewals, 0),
  };
}
