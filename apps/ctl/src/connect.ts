import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { type Client, createClient } from '@tidegate/client/client';
import { chooseProxy } from '@tidegate/protocol/proxy-route';
import { UsageError } from '@tidegate/terminal/read-args';
import type { World } from './world.ts';

/** Largest token file, in bytes. */
const TOKEN_MAX_BYTES = 16_384;
/** What a header may hold. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;
const OTHERS_MAY_READ = 0o044;

/** Which server, and in whose name: from options, or from the environment. */
export interface Connection {
  readonly server: string;
  readonly tokenFile: string | null;
  readonly caFile: string | null;
}

export interface ConnectionValues {
  readonly server?: unknown;
  readonly 'token-file'?: unknown;
  readonly 'ca-file'?: unknown;
  readonly 'plain-http'?: unknown;
}

/** A token or a certificate that cannot be read: said in one sentence. */
export class ConnectionFault extends Error {}

/** @throws UsageError for no server, one that is no URL, or http:// to another machine. */
export function connectionOf(values: ConnectionValues, { env }: World): Connection {
  const server = given(values.server) ?? given(env.TIDEGATE_SERVER);
  if (server === null) throw new UsageError('which server? give --server URL, or set TIDEGATE_SERVER');
  const url = URL.canParse(server) ? new URL(server) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(
      `--server is ${JSON.stringify(server)}; allowed: a URL such as https://tidegate.example`,
    );
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new UsageError('--server has a user name, a password, a query or a fragment; leave them out');
  if (url.protocol === 'http:' && !isThisMachine(url.hostname) && values['plain-http'] !== true)
    throw new UsageError(
      `${server} would carry the token in the open; use https://, or --plain-http where the way is safe`,
    );
  return {
    server: url.href.replace(/\/+$/, ''),
    tokenFile: given(values['token-file']) ?? given(env.TIDEGATE_TOKEN_FILE),
    caFile: given(values['ca-file']) ?? given(env.TIDEGATE_CA_FILE),
  };
}

/** @throws ConnectionFault for a token or certificate that cannot be read. */
export async function connect(connection: Connection, world: World): Promise<Client> {
  const { server, tokenFile, caFile } = connection;
  const route = chooseProxy(new URL(server), world.env);
  if (route.kind === 'invalid')
    throw new ConnectionFault(`${route.variable} names no http:// or https:// proxy`);
  return createClient({
    baseUrl: server,
    ...(tokenFile === null ? {} : { token: await readToken(tokenFile, world) }),
    ...(caFile === null ? {} : { ca: await read(caFile) }),
    ...(route.kind === 'proxy' ? { proxyUrl: route.url } : {}),
  });
}

async function readToken(path: string, { err }: World): Promise<string> {
  const token = (await read(path)).trim();
  if (!TOKEN.test(token))
    throw new ConnectionFault(`${path} holds no token: one line without spaces is expected`);
  const found = statSync(path);
  if (found.isFile() && (found.mode & OTHERS_MAY_READ) !== 0)
    err(`Others may read ${path}: chmod 600 keeps the token yours.`);
  return token;
}

async function read(path: string): Promise<string> {
  try {
    if (statSync(path).size > TOKEN_MAX_BYTES * 64) throw new ConnectionFault(`${path} is too large`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof ConnectionFault) throw error;
    throw new ConnectionFault(error instanceof Error ? error.message : String(error));
  }
}

function given(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** localhost, 127.0.0.0/8 and ::1, as a URL spells them. */
function isThisMachine(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}
