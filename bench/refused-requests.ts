import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { LIMIT_CLASSES } from '../apps/server/src/platform/http/access.ts';
import {
  BENCH_PASSWORD,
  BENCH_USER,
  type BenchAgent,
  type BenchServer,
  LIFTED_CLASSES,
  startFleet,
} from './fleet.ts';
import { BODY_SHAPES, bytesOf, HEAD_SHAPES } from './hostile-requests.ts';
import { cpuOfThreads, median, pinLoad } from './processes.ts';
import { readRouteTable } from './route-table.ts';
import type { BenchOptions } from './run.ts';

/** The limit for the CPU time of a refused request, in microseconds. */
export const REFUSAL_MAX_US = 2_000;
/** How long the server needs to finish with a closed connection. */
const SETTLE_MS = 1;
/** Routes that are called to warm the server up. */
const WARM_UP_ROUTES = 8;
/** Rounds for a case above the limit, to rule out the influence of other work. */
const ROUNDS_ABOVE_LIMIT = 15;
const ANSWER_TIMEOUT_MS = 10_000;
const VIEWER = 'viewer';
/** Callers with a valid credential; 400 and 413 mean that it was accepted on the route, too. */
const KNOWN: ReadonlySet<string> = new Set([VIEWER, 'agent', 'another agent']);

interface Caller {
  name: string;
  headers: readonly string[];
}

interface Timed {
  /** Set for a case above the limit, which is sent again after all others. */
  request?: Buffer;
  route: string;
  caller: string;
  shape: string;
  status: string;
  cpuUs: number;
}

export interface RefusedFigures {
  cases: number;
  /** The most expensive case of each route, most expensive first. */
  routes: Record<string, { cpuUs: number; caller: string; shape: string; status: string }>;
  /** Cases above REFUSAL_MAX_US. */
  tooExpensive: number;
  /** The same for callers who may send a body there and sent a wrong one: reported, but not limited. */
  admittedTooExpensive: number;
}

/**
 * CPU of the server (all of its threads) for each request that it refuses: every route with every kind of caller and
 * every hostile shape, each on a connection of its own, the median of some rounds. Rate limits are high, so that no
 * request is refused because of them.
 */
export async function timeRefusals({ rounds, say }: BenchOptions): Promise<RefusedFigures> {
  if (!pinLoad())
    say('one core, or no taskset: server and load share the core, so the figures are not reliable');
  const routes = await readRouteTable();
  const fleet = await startFleet('sqlite', {
    agents: 2,
    env: { SERVICE_TRUSTED_PROXIES: '127.0.0.1' },
    prepare: async (database) => {
      const values = LIMIT_CLASSES.filter((name) => !LIFTED_CLASSES.includes(name)).map((name) => ({
        ...{ class: name, requests: 100_000, window_seconds: 60, enabled: 1, updated_at: Date.now() },
      }));
      await database.transact((tx) => tx.insertInto('rate_limits').values(values).execute());
    },
  });
  if ('missing' in fleet) throw new Error(fleet.missing);
  try {
    await makeViewer(fleet);
    const timed: Timed[] = [];
    for (const route of routes.slice(0, WARM_UP_ROUTES)) {
      await timeRoute({ fleet, route, callers: await callersOf(fleet) }, 1);
    }
    for (const route of routes) {
      // Some routes end the calling session, so each route gets new ones.
      const found = await timeRoute({ fleet, route, callers: await callersOf(fleet) }, rounds);
      timed.push(...found);
      const worst = found.toSorted((a, b) => b.cpuUs - a.cpuUs)[0];
      if (worst) {
        say(`${route}: ${Math.round(worst.cpuUs)} µs (${worst.caller}, ${worst.shape}, ${worst.status})`);
      }
    }
    return figuresOf(await timeAgain(fleet, timed));
  } finally {
    await fleet.stop();
  }
}

/** Background work of the server affects all cases of the same moment; measured again, they are free of it. */
async function timeAgain(fleet: BenchServer, timed: readonly Timed[]): Promise<Timed[]> {
  const again: Timed[] = [];
  for (const one of timed) {
    const second = one.request && (await timeRequest(fleet, one.request, ROUNDS_ABOVE_LIMIT));
    const isRefused = second !== undefined && !/^[23]/.test(second.status);
    again.push(isRefused ? { ...one, cpuUs: Math.min(one.cpuUs, second.cpuUs) } : one);
  }
  return again;
}

function figuresOf(timed: readonly Timed[]): RefusedFigures {
  const figures: RefusedFigures = {
    cases: timed.length,
    routes: {},
    tooExpensive: 0,
    admittedTooExpensive: 0,
  };
  for (const { route, caller, shape, status, cpuUs } of timed.toSorted((a, b) => b.cpuUs - a.cpuUs)) {
    figures.routes[route] ??= { cpuUs: Math.round(cpuUs), caller, shape, status };
    if (cpuUs <= REFUSAL_MAX_US) continue;
    if (KNOWN.has(caller) && ['400', '413'].includes(status)) figures.admittedTooExpensive++;
    else figures.tooExpensive++;
  }
  return figures;
}

async function timeRoute(
  { fleet, route, callers }: { fleet: BenchServer; route: string; callers: readonly Caller[] },
  rounds: number,
): Promise<Timed[]> {
  const [method = '', pattern = ''] = route.split(' ');
  const path = pattern
    .replace(':ecosystem', 'apt')
    .replace(/:agent_id/, fleet.agents[0]?.agentId ?? '')
    .replace(/:\w+/g, NOBODY);
  const shapes = ['GET', 'HEAD'].includes(method) ? HEAD_SHAPES : [...HEAD_SHAPES, ...BODY_SHAPES];
  const timed: Timed[] = [];
  for (const caller of callers) {
    for (const shape of shapes) {
      const request = bytesOf({ method, path, credential: caller.headers }, shape);
      let { status, cpuUs } = await timeRequest(fleet, request, rounds);
      // A garbage collection or a compilation affects single requests; a really expensive case stays so over many.
      if (cpuUs > REFUSAL_MAX_US) ({ status, cpuUs } = await timeRequest(fleet, request, ROUNDS_ABOVE_LIMIT));
      if (/^[23]/.test(status)) continue;
      const one = { route, caller: caller.name, shape: shape.name, status, cpuUs };
      timed.push(cpuUs > REFUSAL_MAX_US ? { ...one, request } : one);
    }
  }
  return timed;
}

/** The status and the median; a request that is not refused is sent only once. */
async function timeRequest(
  fleet: BenchServer,
  request: Buffer,
  rounds: number,
): Promise<{ status: string; cpuUs: number }> {
  const costs: number[] = [];
  let status = '';
  for (let i = 0; i < rounds && !/^[23]/.test(status); i++) {
    const before = cpuOfThreads(fleet.pid);
    status = await statusOf(fleet.url, request);
    await setTimeout(SETTLE_MS);
    costs.push(cpuOfThreads(fleet.pid) - before);
  }
  return { status, cpuUs: median(costs) };
}

const NOBODY = '01900000-0000-7000-8000-00000000beef';

/** The status of the answer, without waiting for the rest of it. */
function statusOf(url: string, request: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy());
  socket.on('error', () => {});
  socket.once('data', (chunk: Buffer) => {
    resolve(chunk.toString('latin1', 9, 12));
    socket.destroy();
  });
  socket.once('close', () => resolve('none'));
  socket.write(request);
  return promise;
}

async function makeViewer(fleet: BenchServer): Promise<void> {
  const token = await sessionOf(fleet, BENCH_USER);
  const body = { username: VIEWER, password: BENCH_PASSWORD, role: 'viewer' };
  const made = await post(fleet, '/api/v1/admin/operators', { token, body });
  if (made.status !== 201) throw new Error(`the viewer could not be created: ${made.status}`);
}

/** Callers without a valid credential, and callers whose valid credential does not cover every route. */
async function callersOf(fleet: BenchServer): Promise<Caller[]> {
  const viewer = await sessionOf(fleet, VIEWER);
  const [own, other] = fleet.agents;
  if (!own || !other) throw new Error('a fleet without agents');
  return [
    { name: 'nobody', headers: [] },
    { name: 'garbage', headers: [`authorization: Bearer ${'x'.repeat(4_000)}`] },
    { name: 'forged token', headers: [`authorization: Bearer ${forged(own.token)}`] },
    { name: 'unknown API token', headers: [`authorization: Bearer tg_${'A'.repeat(43)}`] },
    { name: 'forged cookie', headers: [`cookie: tidegate_session=${forged(viewer)}`] },
    { name: 'viewer', headers: [`authorization: Bearer ${viewer}`] },
    { name: 'agent', headers: headersOf(own) },
    { name: 'another agent', headers: headersOf(other) },
  ];
}

function headersOf({ token, machineId }: BenchAgent): string[] {
  return [`authorization: Bearer ${token}`, `x-machine-id: ${machineId}`];
}

/** The same token with another signature. */
function forged(token: string): string {
  return `${token.slice(0, -8)}AAAAAAAA`;
}

const WithToken = Type.Object({ token: Type.String() });

async function sessionOf(fleet: BenchServer, username: string): Promise<string> {
  const answer = await post(fleet, '/api/v1/auth/login', { body: { username, password: BENCH_PASSWORD } });
  return Value.Parse(WithToken, await answer.json()).token;
}

function post(
  { url }: BenchServer,
  path: string,
  { token, body }: { token?: string; body: object },
): Promise<Response> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return fetch(url + path, {
    method: 'POST',
    headers: { ...authorization, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
