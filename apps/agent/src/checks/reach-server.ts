import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { chooseProxy, type Environment } from '@tidegate/protocol/proxy-route';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { errorCode } from '../platform/file-layer.ts';
import { checkServerUrl, createServerClient } from '../session/server-client.ts';
import { type Finding, faulty, sound } from './finding.ts';
import { shakeHands } from './handshake.ts';
import { adviseName, judgeCertificate, judgeProxy, judgeSkew } from './network-rules.ts';

const LOOKUP_TIMEOUT_MS = 10_000;
const Health = Type.Object({ status: Type.String(), version: Type.String() });

export interface ReachParts {
  serverUrl: string;
  allowInsecureHttp: boolean;
  env: Environment;
  nowMs: () => number;
  /** The certificates that alone vouch for the server; the public ones when null or absent. */
  serverCa?: string | null;
}

/**
 * The way to the server, step by step: address, proxy, DNS, TLS, the server itself, and its clock. Stops at the first
 * step that fails, as the later ones would only repeat it. Sends no token.
 */
export async function reachServer(parts: ReachParts): Promise<Finding[]> {
  const { serverUrl, allowInsecureHttp, env, nowMs, serverCa: ca = null } = parts;
  const checked = checkServerUrl(serverUrl, allowInsecureHttp);
  if (!checked.ok) return [faulty('server', checked.detail)];
  const url = new URL(checked.url);
  const route = chooseProxy(url, env);
  const hasHttpProxy = [env.http_proxy, env.HTTP_PROXY].some((value) => value?.trim());
  const findings = [judgeProxy(url, route, hasHttpProxy)];
  if (route.kind === 'invalid') return findings;

  const proxy = route.kind === 'proxy' ? route.url : null;
  const name = await findName(proxy === null ? url : new URL(proxy), proxy !== null);
  findings.push(...name);
  if (name.some(({ ok }) => !ok)) return findings;

  if (url.protocol === 'https:') {
    const shaken = await shakeHands(url, { proxy, ca });
    if (!shaken.ok) return [...findings, faulty('connection', shaken.detail)];
    const certificate = judgeCertificate(shaken.handshake, { nowMs: nowMs(), isOwnCa: ca !== null });
    findings.push(certificate);
    if (!certificate.ok) return findings;
  }
  return [...findings, ...(await askHealth(checked.url, parts))];
}

/** Looks the host up as the agent's connections do; an address needs no DNS. */
async function findName({ hostname }: URL, isProxy: boolean): Promise<Finding[]> {
  const check = 'DNS';
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return [];
  const whose = isProxy ? 'the proxy ' : '';
  try {
    const found = await within(LOOKUP_TIMEOUT_MS, lookup(host, { all: true }));
    const addresses = found.slice(0, 4).map(({ address }) => address);
    return [sound(check, `${whose}${host} is ${addresses.join(', ')}`)];
  } catch (error) {
    return [faulty(check, `${whose}${adviseName(errorCode(error), host)}`)];
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('no answer in time')), ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function askHealth(
  baseUrl: string,
  { env, nowMs, serverCa: ca = null }: ReachParts,
): Promise<Finding[]> {
  const check = 'server';
  const startedMs = nowMs();
  const answer = await createServerClient({ baseUrl, env, ca }).request({
    method: 'GET',
    path: '/api/health',
  });
  const endedMs = nowMs();
  if (answer.kind !== 'ok') return [faulty(check, answer.detail)];
  if (!Check(Health, answer.body)) return [faulty(check, 'this is not a Tidegate server')];
  const { status, version } = answer.body;
  const server = sound(check, `${baseUrl} is ${status}, version ${version}`);
  if (answer.dateMs === null) return [server];
  const facts = { serverMs: answer.dateMs, nowMs: endedMs, tookMs: endedMs - startedMs };
  return [server, judgeSkew(facts)];
}
