import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import type { AccessTokens } from '../agent-credentials/access-tokens.ts';
import { judgeCaller } from '../agents/guard-rules.ts';
import { CHECK_IN_INTERVAL_SECONDS } from '../agents/presence.ts';
import type { CallerQuestion, CallerReads, CallerRow } from '../agents/read-callers.ts';
import type { AgentId } from '../platform/http/identities.ts';
import { answerReady } from '../platform/http/ready-answer.ts';
import type { Lane } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import type { Limiter } from '../rate-limits/limiter.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import type { Addresses } from './addresses.ts';
import { answerText, createSpread } from './answer.ts';
import { isIdleText } from './idle-text.ts';
import type { LastSeen } from './last-seen.ts';

export interface FastLaneDeps {
  platform: Pick<Platform, 'now' | 'random'>;
  accessTokens: Pick<AccessTokens, 'recall'>;
  limiter: Limiter;
  callers: Pick<CallerReads, 'ask'>;
  keyRing: Pick<KeyRing, 'state' | 'freshState'>;
  lastSeen: LastSeen;
  addresses: Pick<Addresses, 'isUsual'>;
}

export interface FastLane {
  lane: Lane;
  /** Whether the lane has counted this request against its limit before it handed it on. */
  isCounted(request: IncomingMessage): boolean;
}

const PREFIX = '/api/v1/agents/';
const SUFFIX = '/check-in';
const UUID_LENGTH = 36;
const URL_LENGTH = PREFIX.length + UUID_LENGTH + SUFFIX.length;
/** An idle check-in is a few hundred bytes. */
const BODY_MAX_BYTES = 4_096;
const NO_COMMANDS: readonly string[] = [];
const NOTHING_STALE: readonly string[] = [];

/**
 * The check-in of an agent that has no news and for which there is none, which is nearly every request of a fleet:
 * the same checks in the same order as the route's, over the same functions, without the framework around them. It
 * answers only where every check passes; any other request goes to the route as it came, which says what is wrong.
 */
export function createFastLane(deps: FastLaneDeps): FastLane {
  const { platform, accessTokens, limiter, callers, keyRing, lastSeen, addresses } = deps;
  const spread = createSpread(platform.random);
  const counted = new WeakSet<IncomingMessage>();

  function handOn({ request, response, next }: Visit): void {
    counted.add(request);
    next(request, response);
  }

  /** Answers, or returns false with the request as it was. */
  function answer(visit: Visit, row: CallerRow, state: string): boolean {
    const { request, response, agentId } = visit;
    if (!passes(visit, row)) return false;
    // From elsewhere than before: the route compares (T3).
    if (!addresses.isUsual(agentId, request.socket.remoteAddress)) return false;
    const body: unknown = request.read(visit.head.bodyBytes);
    // Not all here yet: whoever reads next waits for it.
    if (!Buffer.isBuffer(body)) return false;
    if (row.hasOpenCommands || !isIdleText(body.toString('latin1'), row)) {
      request.unshift(body);
      return false;
    }
    const nowMs = platform.now();
    const intervalSeconds = row.pollingIntervalSeconds ?? CHECK_IN_INTERVAL_SECONDS;
    lastSeen.note(agentId, nowMs, intervalSeconds);
    const text = answerText({
      nowMs,
      state,
      commands: NO_COMMANDS,
      report: NOTHING_STALE,
      nextCheckInSeconds: spread(intervalSeconds),
    });
    answerReady(response, { requestId: randomUUID(), text, nowMs });
    return true;
  }

  function settle(visit: Visit, row: CallerRow | null): void {
    const state = keyRing.freshState();
    if (state !== null) {
      if (row === null || !answer(visit, row, state)) handOn(visit);
      return;
    }
    // Once in 10 s for the whole fleet.
    keyRing.state().then(
      () => settle(visit, row),
      () => handOn(visit),
    );
  }

  return {
    isCounted: (request) => counted.has(request),
    lane(request, response, next) {
      const head = readHead(request);
      if (head === null) return false;
      const known = accessTokens.recall(head.authorization);
      if (known === null) return false;
      // A refusal counts for nothing: the route refuses it again, and says until when.
      if (!limiter.take('agent_checkin', known.agentId).ok) return false;
      const visit: Visit = { request, response, next, head, agentId: known.agentId };
      const question: CallerQuestion = {
        key: known,
        resolve: (row) => settle(visit, row),
        // The route asks again, and answers what a database that is away deserves.
        reject: () => handOn(visit),
      };
      callers.ask(question);
      return true;
    },
  };
}

interface Visit {
  request: IncomingMessage;
  response: ServerResponse;
  next: RequestListener;
  head: PlainHead;
  agentId: AgentId;
}

interface PlainHead {
  authorization: string;
  machineId: string;
  bodyBytes: number;
}

/** What the head of a plain check-in says; null where the request is anything else. */
function readHead({ method, url, headers }: IncomingMessage): PlainHead | null {
  if (method !== 'POST' || url?.length !== URL_LENGTH) return null;
  if (!url.startsWith(PREFIX) || !url.endsWith(SUFFIX)) return null;
  if (headers['content-type'] !== 'application/json' || headers['content-encoding'] !== undefined)
    return null;
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return null;
  const { authorization, [MACHINE_ID_HEADER]: machineId } = headers;
  if (typeof machineId !== 'string' || authorization === undefined) return null;
  const bodyBytes = Number(headers['content-length']);
  if (!Number.isSafeInteger(bodyBytes) || bodyBytes <= 0 || bodyBytes > BODY_MAX_BYTES) return null;
  return { authorization, machineId, bodyBytes };
}

/** The guard's verdict for this route; an agent that is to be bound is the route's. */
function passes({ request, agentId, head }: Visit, row: CallerRow): boolean {
  if (row.machineId === null || head.machineId !== row.machineId) return false;
  const verdict = judgeCaller({
    agent: row.agentStatus,
    familyActive: row.familyActive,
    recordedMachineId: row.machineId,
    presentedMachineId: row.machineId,
    agentId,
    pathAgentId: request.url?.slice(PREFIX.length, PREFIX.length + UUID_LENGTH) ?? '',
    agentVersion: row.agentVersion,
    minAgentVersion: null,
    route: { bind: true, old: true },
  });
  return verdict === 'pass';
}
