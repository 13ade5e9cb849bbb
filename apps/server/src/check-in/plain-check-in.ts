import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CheckInRequest } from '@tidegate/protocol/agent-api';
import { REQUEST_ID_HEADER } from '@tidegate/protocol/headers';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Compile } from 'typebox/compile';
import type { AgentDoor } from '../agents/agent-door.ts';
import type { AgentCaller } from '../platform/http/access.ts';
import { CHECK_IN_MAX_BYTES, jsonLimits } from '../platform/http/body-sizes.ts';
import { AGENT_HEADERS } from '../platform/http/security-headers.ts';
import type { PlainRoute } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { CHECK_IN_ACCESS } from './access.ts';
import type { Addresses } from './addresses.ts';
import { createAnswers } from './answer.ts';
import { isIdle } from './idle-rules.ts';

export interface PlainCheckInDeps {
  platform: Pick<Platform, 'now' | 'random'>;
  door: AgentDoor;
  keyRing: Pick<KeyRing, 'state' | 'freshState'>;
  lastSeen: {
    record(agentId: string, nowMs: number, intervalSeconds: number, socketAddress: string | undefined): void;
  };
  addresses: Pick<Addresses, 'isUnchanged'>;
  /** Told of every answer, for metrics; null measures nothing. */
  answered: ((answer: { route: string; statusCode: number; tookMs: number }) => void) | null;
}

const PREFIX = '/api/v1/agents/';
const SUFFIX = '/check-in';
const UUID_LENGTH = 36;
const URL_LENGTH = PREFIX.length + UUID_LENGTH + SUFFIX.length;
/** An idle check-in is a few hundred bytes. */
const BODY_MAX_BYTES = 4_096;
const HEADERS = ['content-type', 'application/json; charset=utf-8', ...AGENT_HEADERS.flat()];
const body = Compile(CheckInRequest);
/** What metrics are told of an idle check-in. */
export const IDLE_ANSWER = { route: '/api/v1/agents/:agent_id/check-in', statusCode: 200 };

/**
 * Answers a check-in without news on either side, which is nearly every request of a fleet: with the route's
 * door, parser and rules, but without the framework. It passes every other request to the framework
 * unchanged, already authenticated and counted by the door; the route then names the error or does the work.
 */
export function createPlainCheckIn(deps: PlainCheckInDeps): PlainRoute {
  const { platform, door, keyRing, lastSeen, addresses, answered } = deps;
  const answers = createAnswers(platform.random);

  /** True if it answered; otherwise the request is unchanged. */
  async function answer(request: IncomingMessage, response: ServerResponse, head: Head): Promise<boolean> {
    const entry = await door.enter(request, { access: CHECK_IN_ACCESS, pathAgentId: head.pathAgentId });
    if (entry.kind !== 'admitted') return false;
    const { caller } = entry;
    // A new address: the route compares (T3).
    const { remoteAddress } = request.socket;
    if (!addresses.isUnchanged(caller.agentId, remoteAddress)) return false;
    // Signed at most once in 10 s for the whole fleet.
    const state = keyRing.freshState() ?? (await keyRing.state());
    const bytes: unknown = request.read(head.bodyBytes);
    // The body is incomplete: the next reader waits for it.
    if (!Buffer.isBuffer(bytes)) return false;
    let text: string | null = null;
    try {
      text = answerTo(bytes, { caller, state, remoteAddress });
    } finally {
      // Pushes the body back, for the framework to read it again.
      if (text === null) request.unshift(bytes);
    }
    if (text === null) return false;
    response.writeHead(200, [REQUEST_ID_HEADER, randomUUID(), 'content-length', text.length, ...HEADERS]);
    response.end(text, 'latin1');
    return true;
  }

  /** Null if the agent has news, or the body is not a check-in. */
  function answerTo(
    bytes: Buffer,
    {
      caller,
      state,
      remoteAddress,
    }: { caller: AgentCaller; state: string; remoteAddress: string | undefined },
  ): string | null {
    const facts = readFacts(bytes);
    if (facts === null || !isIdle(caller, facts)) return null;
    const nowMs = platform.now();
    lastSeen.record(caller.agentId, nowMs, answers.intervalOf(caller), remoteAddress);
    return answers.text({ caller, facts, nowMs, state, commands: [] });
  }

  return (request, response, next) => {
    const head = readHead(request);
    if (head === null) return next(request, response);
    const startedMs = answered && performance.now();
    answer(request, response, head).then(
      (isAnswered) => {
        if (!isAnswered) next(request, response);
        else if (startedMs !== null) answered?.({ ...IDLE_ANSWER, tookMs: performance.now() - startedMs });
      },
      // The door throws again in the framework, which answers for an unavailable database.
      () => next(request, response),
    );
  };
}

interface Head {
  pathAgentId: string;
  bodyBytes: number;
}

/** Parses the head of a plain check-in; null for any other request. */
function readHead({ method, url, headers }: IncomingMessage): Head | null {
  if (method !== 'POST' || url?.length !== URL_LENGTH) return null;
  if (!url.startsWith(PREFIX) || !url.endsWith(SUFFIX)) return null;
  if (headers['content-type'] !== 'application/json' || headers['content-encoding'] !== undefined)
    return null;
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return null;
  const bodyBytes = Number(headers['content-length']);
  if (!Number.isSafeInteger(bodyBytes) || bodyBytes <= 0 || bodyBytes > BODY_MAX_BYTES) return null;
  return { pathAgentId: url.slice(PREFIX.length, PREFIX.length + UUID_LENGTH), bodyBytes };
}

function readFacts(bytes: Buffer): CheckInRequest | null {
  const json = parseStrictJson(bytes, jsonLimits(CHECK_IN_MAX_BYTES));
  return json.ok && body.Check(json.value) ? json.value : null;
}
