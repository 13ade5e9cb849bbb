import { BULK_MAX_UPDATES, BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import { Value } from 'typebox/value';
import { insertUpdates } from './approvable-updates.ts';
import { atRest } from './at-rest.ts';
import { startFleet } from './fleet.ts';
import { createKeptSockets } from './kept-sockets.ts';
import { type Call, logIn } from './operator-client.ts';
import { memoryOf } from './processes.ts';
import { flagsOf } from './rounds.ts';
import { cpuBetween, pointOf, type Scenario } from './scenario.ts';
import { takeTurns } from './turns.ts';
import { createWaitingHost, type WaitingHost } from './waiting-host.ts';

/** Each host checks in once in this time. */
const INTERVAL_SECONDS = 60;
/** So that a small fleet does not take as long as a large one. */
const PER_SECOND_MIN = 50;
/** A server that shares its core with other work approves 10,000 in minutes. */
const TURNS_MAX = 20;

/**
 * One request approves an update of each host, at most 10,000, while the hosts check in once a minute, in turn. How long after the
 * request each has its command, and how long the request took; CPU of the approval and of all check-ins until the last has it.
 */
export const measureFanOut: Scenario = async (of, { floor, options }) => {
  const count = Math.min(of.agents, BULK_MAX_UPDATES);
  const fleet = await startFleet(of.engine, {
    agents: of.agents,
    nodeFlags: flagsOf(of.engine),
    prepare: (database, agentIds) => insertUpdates(database, { agentIds: agentIds.slice(0, count), each: 1 }),
  });
  if ('missing' in fleet) return fleet;
  const sockets = createKeptSockets(fleet.url);
  try {
    const call = await logIn(fleet.url);
    await atRest(() => fleet.cpuUs().server);
    const hosts = fleet.agents.slice(0, count).map(createWaitingHost);
    const helloUs = [await floor.costUs(options.seconds)];
    const before = fleet.cpuUs();
    const beganMs = performance.now();
    const approving = approveAll(call, count).then(() => (performance.now() - beganMs) / 1_000);
    const tookMs = await pollUntilAll(hosts, sockets.ask);
    const seconds = Math.max(...tookMs) / 1_000;
    const approvedSeconds = await approving;
    const cpu = cpuBetween(before, fleet.cpuUs());
    helloUs.push(await floor.costUs(options.seconds));
    options.say(
      `${of.engine}: ${count} hosts of ${of.agents} approved in ${approvedSeconds.toFixed(1)} s, the last has its command after ${seconds.toFixed(1)} s`,
    );
    const rssMb = Math.round(memoryOf(fleet.pid).rssKb / 1_024);
    const more = { approvedSeconds: Math.round(approvedSeconds * 10) / 10 };
    return [pointOf({ of, scenario: 'fan-out', tookMs, seconds, cpu, helloUs, rssMb, more })];
  } finally {
    sockets.close();
    await fleet.stop();
  }
};

/** Approves the pending update of each of so many hosts; throws unless all are. */
export async function approveAll(call: Call, count: number): Promise<void> {
  const request = { filter: { state: 'pending' }, confirm_count: count };
  const { approved } = Value.Parse(BulkApproveAnswer, await call('POST', '/api/v1/updates/approve', request));
  if (approved.length !== count) throw new Error(`${approved.length} of ${count} updates were approved`);
}

async function pollUntilAll(
  hosts: readonly WaitingHost[],
  ask: (request: Buffer) => Promise<string>,
): Promise<number[]> {
  const beganMs = performance.now();
  const tookMs: number[] = [];
  const perSecond = Math.max(PER_SECOND_MIN, hosts.length / INTERVAL_SECONDS);
  for (let turn = 0; turn < TURNS_MAX && tookMs.length < hosts.length; turn++) {
    const due = [...hosts];
    await takeTurns({ seconds: hosts.length / perSecond, perSecond }, async () => {
      const host = due.shift();
      if (host === undefined || tookMs.length === hosts.length) return;
      const isWaiting = host.commandIds.length === 0;
      host.read(await ask(host.request()));
      if (isWaiting && host.commandIds.length > 0) tookMs.push(performance.now() - beganMs);
    });
  }
  if (tookMs.length < hosts.length)
    throw new Error(`${hosts.length - tookMs.length} hosts have no command after ${TURNS_MAX} turns`);
  return tookMs;
}
