import { connect, type Socket } from 'node:net';
import { addressOf } from './ask-alone.ts';
import { checkInRequest } from './check-in.ts';
import { exchange } from './exchange.ts';
import type { BenchAgent } from './fleet.ts';
import { renewRequest } from './renewals.ts';

/** How agents bring what they have: on a connection that they keep as long as the server does, or on one each time. */
export type Bring = 'kept' | 'new';

export interface MinuteOptions {
  url: string;
  agents: readonly BenchAgent[];
  /** Of these agents among all; each index has an address of its own. */
  firstIndex: number;
  bring: Bring;
  /** Intervals of all agents, of which the last one counts. */
  intervals: number;
  /** The wall clock at which the first interval begins, the same for all processes. */
  beginAtMs: number;
}

export interface MinuteTimes {
  /** Of the last interval, from when a poll was due, with the renewal of those that renew. */
  latenciesMs: number[];
  /** Their parts: how late the load itself began, and what connecting and the answer took; a kept connection is not connected. */
  lateMs: number[];
  connectMs: number[];
  answerMs: number[];
  refused: Record<string, number>;
  /** Requests of the last interval that found their connection open. */
  kept: number;
  renewals: number;
}

export const INTERVAL_MS = 60_000;
/** A token lives a quarter of an hour and is renewed at half of its life or a little later: at about every ninth poll. */
export const RENEWS_EACH = 9;
const TIMEOUT_MS = 20_000;

/** Polls of all agents, evenly spread over each interval. */
export async function runMinutes(options: MinuteOptions): Promise<MinuteTimes> {
  const { hostname: host, port } = new URL(options.url);
  const hosts = options.agents.map((agent, i) => ({
    ...{ agent: { ...agent }, index: options.firstIndex + i, socket: null as Socket | null },
  }));
  const times: MinuteTimes = {
    ...{ latenciesMs: [], lateMs: [], connectMs: [], answerMs: [] },
    ...{ refused: {}, kept: 0, renewals: 0 },
  };
  const { length: count } = hosts;
  const lastFrom = (options.intervals - 1) * count;
  const turns: Promise<void>[] = [];

  async function open(index: number): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port: Number(port), localAddress: addressOf(index), noDelay: true });
      socket.setTimeout(TIMEOUT_MS + INTERVAL_MS, () => socket.destroy());
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        socket.on('error', () => {});
        resolve(socket);
      });
    });
  }

  async function ask(socket: Socket, request: Buffer): Promise<Buffer> {
    const timer = setTimeout(() => socket.destroy(), TIMEOUT_MS);
    return await exchange(socket, request).finally(() => clearTimeout(timer));
  }

  async function checkIn(one: (typeof hosts)[number], counts: boolean): Promise<void> {
    const isKept = one.socket !== null && !one.socket.destroyed;
    if (counts && isKept) times.kept++;
    const beganMs = performance.now();
    const socket = isKept && one.socket !== null ? one.socket : await open(one.index);
    if (counts && !isKept) times.connectMs.push(performance.now() - beganMs);
    one.socket = null;
    const askedMs = performance.now();
    const answer = await ask(socket, checkInRequest(one.agent)).catch((error: unknown) => {
      socket.destroy();
      throw error;
    });
    if (counts) times.answerMs.push(performance.now() - askedMs);
    const head = answer.toString('latin1', 0, answer.indexOf('\r\n\r\n'));
    if (options.bring === 'kept' && !/^connection: close/im.test(head)) one.socket = socket;
    else socket.destroy();
  }

  async function turn(n: number, dueMs: number): Promise<void> {
    const one = hosts[n % count];
    if (one === undefined) return;
    const counts = n >= lastFrom;
    if (counts) times.lateMs.push(performance.now() - dueMs);
    try {
      if ((one.index + Math.floor(n / count)) % RENEWS_EACH === 0) {
        const { machineId, refreshToken: token } = one.agent;
        // A renewal has a connection of its own (record 0091).
        const alone = await open(one.index);
        const request = renewRequest({ machineId, token, requestId: crypto.randomUUID() });
        const answer = await ask(alone, request).finally(() => alone.destroy());
        const body = JSON.parse(answer.toString('utf8', answer.indexOf('\r\n\r\n') + 4));
        Object.assign(one.agent, { token: body.access_token, refreshToken: body.refresh_token });
        if (counts) times.renewals++;
      }
      await checkIn(one, counts);
      if (counts) times.latenciesMs.push(performance.now() - dueMs);
    } catch (error) {
      const why =
        error instanceof Error ? (/HTTP\/1.1 (\d+)/.exec(error.message)?.[1] ?? error.message) : 'fault';
      if (counts) times.refused[why] = (times.refused[why] ?? 0) + 1;
    }
  }

  const beginMs = performance.now() + options.beginAtMs - Date.now();
  for (let n = 0; n < count * options.intervals; ) {
    const nowMs = performance.now();
    for (; n < count * options.intervals; n++) {
      const dueMs = beginMs + (n * INTERVAL_MS) / count;
      if (dueMs > nowMs) break;
      turns.push(turn(n, dueMs));
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(turns);
  for (const { socket } of hosts) socket?.destroy();
  return times;
}
