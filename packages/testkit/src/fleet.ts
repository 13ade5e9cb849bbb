import type { Clock } from './clock.ts';
import { createSimulatedAgent, type SimulatedAgent } from './fleet-agent.ts';
import { createFleetCalls, type FleetCalls } from './fleet-calls.ts';
import { createFleetClient } from './fleet-client.ts';
import type { InventoryShape } from './fleet-inventory.ts';
import { createTally, type OperationSummary, type Verdict } from './fleet-tally.ts';
import { createIds } from './ids.ts';

export type FleetOptions = {
  serverUrl: string;
  /** How many hosts there are. */
  agents: number;
  /** One token with seats for all, or one for each host. */
  registrationToken: string | ((index: number) => string);
  clock: Pick<Clock, 'now'>;
  /** Packages and updates of each host. */
  inventory?: InventoryShape;
  /** Most requests under way at once. */
  concurrency?: number;
  timeoutMs?: number;
  /** Starts machine ids and host names; two fleets on one server need two. */
  prefix?: string;
  /** The loopback address that a host registers from: registrations are limited per address. */
  addressOf?: (index: number) => string | undefined;
};

/** What a round over all hosts did. `operations` has every kind of request so far, `elapsedMs` is of this round. */
export type Round = { elapsedMs: number; operations: OperationSummary[] };

/** Simulated hosts of one process; the driver schedules every request. */
export type Fleet = FleetCalls & {
  readonly agents: readonly SimulatedAgent[];
  enrolAll(): Promise<Round>;
  checkInAll(): Promise<Round>;
  reportAll(): Promise<Round>;
  renewAll(): Promise<Round>;
  answerAll(): Promise<Round>;
  /** Bad as soon as one request got another than its expected status (including 429 and 401), or nothing was sent. */
  verdict(): Verdict;
  /** Closes the connections. */
  stop(): void;
};

/** Makes a fleet of hosts that are not enrolled yet. It verifies no signature and installs nothing: it is load. */
export function createFleet(options: FleetOptions): Fleet {
  const { registrationToken: token, clock, concurrency = 64, prefix = 'sim' } = options;
  const agents = Array.from({ length: options.agents }, (_, index) => createSimulatedAgent(index, prefix));
  const client = createFleetClient({
    serverUrl: options.serverUrl,
    connections: concurrency,
    timeoutMs: options.timeoutMs ?? 30_000,
  });
  const tally = createTally();
  const calls = createFleetCalls({
    client,
    tally,
    clock,
    ids: createIds(clock, prefix),
    shape: options.inventory ?? { packages: 300, updates: 8 },
    tokenOf: typeof token === 'string' ? () => token : token,
    addressOf: options.addressOf ?? (() => undefined),
  });

  /** Each of `concurrency` lanes takes the next host as soon as its last one is done. */
  async function everyAgent(act: (agent: SimulatedAgent) => Promise<void>): Promise<Round> {
    const startMs = performance.now();
    const queue = agents.values();
    const lane = async () => {
      for (const agent of queue) await act(agent);
    };
    await Promise.all(Array.from({ length: concurrency }, lane));
    return { elapsedMs: performance.now() - startMs, operations: tally.verdict().operations };
  }

  return {
    ...calls,
    agents,
    enrolAll: () => everyAgent(calls.enrol),
    checkInAll: () => everyAgent(calls.checkIn),
    reportAll: () => everyAgent(calls.report),
    renewAll: () => everyAgent(calls.renew),
    answerAll: () => everyAgent(calls.answerCommands),
    verdict: tally.verdict,
    stop: client.stop,
  };
}
