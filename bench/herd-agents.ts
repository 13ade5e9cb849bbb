import { pollMs, reconnectMs } from '../apps/agent/src/platform/back-off.ts';
import { type Answer, addressOf, askAlone } from './ask-alone.ts';
import { closingCheckInRequest } from './check-in.ts';
import type { BenchAgent } from './fleet.ts';
import { renewRequest } from './renewals.ts';

/** As the agent (apps/agent/src/session): how long it waits for an answer, and holds a renewal that failed. */
const CHECK_IN_TIMEOUT_MS = 20_000;
const RENEW_TIMEOUT_MS = 45_000;
const RENEWAL_RETRY_MS = 30_000;
const RENEWAL_SILENCE_MS = 60_000;
const INTERVAL_MS = 60_000;
const TICK_MS = 20;

export interface Herd {
  /** When each agent was first back, in milliseconds since the begin. */
  readonly backMs: readonly number[];
  /** Answers other than 200, and faults of connections, by kind. */
  readonly refused: Readonly<Record<string, number>>;
  /** Requests that were begun in each second. */
  readonly requestsPerSecond: readonly number[];
  /** Agents that gave up for good. */
  readonly lost: number;
}

export interface HerdOptions {
  url: string;
  agents: readonly BenchAgent[];
  /** Of these agents among all; each index has an address of its own. */
  firstIndex: number;
  areExpired: boolean;
  withinMs: number;
  untilMs: number;
  settleMs: number;
}

interface HostState extends BenchAgent {
  address: string;
  isExpired: boolean;
  isRefused: boolean;
  heldUntilMs: number;
  requestId: string | null;
  failures: number;
  isBack: boolean;
}

/**
 * Agents that come back at random times of `withinMs`, each with new connections and the waits of the real agent, until all are
 * back and have polled for a while, or `untilMs`.
 */
export async function runHerd(options: HerdOptions): Promise<Herd> {
  const { agents, firstIndex } = options;
  const { hostname: host, port } = new URL(options.url);
  const beganMs = performance.now();
  const nowMs = () => performance.now() - beganMs;
  const backMs: number[] = [];
  const refused: Record<string, number> = {};
  const requestsPerSecond: number[] = [];
  let lost = 0;
  const due = new Map<number, HostState[]>();
  function schedule(one: HostState, atMs: number): void {
    const tick = Math.ceil(Math.max(atMs, nowMs() + TICK_MS) / TICK_MS);
    const others = due.get(tick);
    if (others) others.push(one);
    else due.set(tick, [one]);
  }
  async function ask({ address }: HostState, request: Buffer, timeoutMs: number): Promise<Answer> {
    const second = Math.floor(nowMs() / 1_000);
    requestsPerSecond[second] = (requestsPerSecond[second] ?? 0) + 1;
    return await askAlone({ host, address, port: Number(port), request, timeoutMs });
  }
  function count(what: string, { status }: Answer): void {
    if (status !== '200') refused[`${what} ${status}`] = (refused[`${what} ${status}`] ?? 0) + 1;
  }
  /** Null when it renewed; otherwise how long the server asks to wait. */
  async function renew(one: HostState): Promise<{ retryAfterMs: number | null } | null> {
    if (nowMs() < one.heldUntilMs) return { retryAfterMs: one.heldUntilMs - nowMs() };
    const { machineId, refreshToken: token } = one;
    one.requestId ??= crypto.randomUUID();
    const request = renewRequest({ machineId, token, requestId: one.requestId });
    const answer = await ask(one, request, RENEW_TIMEOUT_MS);
    count('renewal', answer);
    if (answer.status === '200') {
      const { access_token, refresh_token } = JSON.parse(answer.body);
      Object.assign(one, { token: access_token, refreshToken: refresh_token, requestId: null });
      Object.assign(one, { isExpired: false, isRefused: false });
      return null;
    }
    if (answer.status === '401' || answer.status === '403') lost++;
    const silenceMs = answer.isSilent ? RENEWAL_SILENCE_MS : RENEWAL_RETRY_MS;
    one.heldUntilMs = nowMs() + Math.max(silenceMs, answer.retryAfterMs ?? 0);
    return { retryAfterMs: answer.retryAfterMs };
  }
  /** One check-in as `Session.call` makes it; the wait that the server asks for, or the next interval. */
  async function poll(one: HostState): Promise<{ nextMs: number } | { retryAfterMs: number | null }> {
    if (one.isExpired) {
      const failure = await renew(one);
      if (failure && one.isRefused) return failure;
    }
    const answer = await ask(one, closingCheckInRequest(one), CHECK_IN_TIMEOUT_MS);
    count('check-in', answer);
    if (answer.status === '200') return { nextMs: JSON.parse(answer.body).next_check_in_seconds * 1_000 };
    if (answer.status !== '401') return { retryAfterMs: answer.retryAfterMs };
    Object.assign(one, { isExpired: true, isRefused: true });
    return (await renew(one)) ?? poll(one);
  }
  async function turn(one: HostState): Promise<void> {
    const outcome = await poll(one);
    if ('nextMs' in outcome) {
      if (!one.isBack) backMs.push(nowMs());
      one.isBack = true;
      one.failures = 0;
      return schedule(one, nowMs() + pollMs(outcome.nextMs, Math.random()));
    }
    one.failures++;
    const { retryAfterMs } = outcome;
    const { failures } = one;
    const waitMs = reconnectMs({ failures, intervalMs: INTERVAL_MS, random: Math.random(), retryAfterMs });
    schedule(one, nowMs() + waitMs);
  }

  for (const [i, agent] of agents.entries()) {
    const address = addressOf(firstIndex + i);
    const fresh = { requestId: null, failures: 0, heldUntilMs: 0, isBack: false, isRefused: false };
    schedule(
      { ...agent, ...fresh, address, isExpired: options.areExpired },
      Math.random() * options.withinMs,
    );
  }
  let tick = 0;
  let endMs = options.untilMs;
  while (nowMs() < endMs) {
    for (; tick * TICK_MS <= nowMs(); tick++) {
      for (const one of due.get(tick) ?? []) void turn(one);
      due.delete(tick);
    }
    if (backMs.length === agents.length) endMs = Math.min(endMs, (backMs.at(-1) ?? 0) + options.settleMs);
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  return { backMs, refused, requestsPerSecond, lost };
}
