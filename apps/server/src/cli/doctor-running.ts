import { get as getPlain, type IncomingMessage } from 'node:http';
import { get as getSecure } from 'node:https';
import { Health } from '@tidegate/protocol/health-api';
import { EXIT, type ExitCode } from '@tidegate/terminal/read-args';
import { Value } from 'typebox/value';
import { type Config, readConfig } from '../config.ts';
import { speaksTls } from '../plain-http.ts';
import type { CliWorld } from './command.ts';

/** Within the time that the image's health check allows. */
const ANSWER_TIMEOUT_MS = 5_000;
const ANSWER_MAX_BYTES = 16 * 1024;

/**
 * Asks the server that runs with these settings for its health (E6), as a container does twice a minute. A degraded server
 * is sound: it answers, and a restart brings neither a database nor advisories back.
 */
export async function askRunningServer(
  { env, out, err }: Pick<CliWorld, 'env' | 'out' | 'err'>,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<ExitCode> {
  const read = readConfig(env);
  const answer = read.ok
    ? await askServer(read.config, timeoutMs)
    : { ok: false as const, fault: read.fault };
  if (!answer.ok) {
    err(`FAIL running: ${answer.fault}`);
    return EXIT.failed;
  }
  const { status, version, checks } = answer.health;
  out(`ok   running: ${version}, ${status}, database ${checks.database}, advisories ${checks.advisories}`);
  return EXIT.ok;
}

type Answer = { ok: true; health: Health } | { ok: false; fault: string };

async function askServer(config: Config, timeoutMs: number): Promise<Answer> {
  const { host, port } = config;
  if (port === 0)
    return { ok: false, fault: 'SERVICE_PORT is 0: the port of the running server is not known' };
  const [scheme, get] = speaksTls(config) ? (['https', getSecure] as const) : (['http', getPlain] as const);
  const url = `${scheme}://${reachable(host)}:${port}/api/health`;
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const fail = (why: string) => resolve({ ok: false, fault: `${url} ${why}` });
  // Its certificate is for another name, and may have expired: that is no reason to restart it, and nothing secret is sent.
  const request = get(url, { agent: false, rejectUnauthorized: false }, (response) => {
    readAnswer(response).then(resolve, (error: Error) => fail(`ended its answer: ${error.message}`));
  });
  request.on('error', (error) => fail(`does not answer: ${error.message}`));
  const timer = setTimeout(() => {
    fail(`has not answered within ${timeoutMs / 1_000} s`);
    request.destroy();
  }, timeoutMs);
  return promise.finally(() => clearTimeout(timer));
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const { statusCode } = response;
  let text = '';
  response.setEncoding('utf8');
  for await (const part of response) {
    text += String(part);
    if (text.length > ANSWER_MAX_BYTES) break;
  }
  const health = statusCode === 200 ? healthIn(text) : null;
  if (health !== null) return { ok: true, health };
  return { ok: false, fault: `another program answers on this port, with status ${statusCode}` };
}

function healthIn(text: string): Health | null {
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(Health, value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** An address to reach a server that listens on all addresses. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
