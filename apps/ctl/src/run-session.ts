import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Client } from '@tidegate/client/client';
import type { Failure, OperationName } from '@tidegate/client/outcome';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { atMinute } from '@tidegate/terminal/words';
import { type Connection, ConnectionFault, connect, connectionOf } from './connect.ts';
import { faultText } from './fault-text.ts';
import { CONNECTION } from './program.ts';
import { readSecret } from './read-secret.ts';
import { SESSIONS } from './session-commands.ts';
import type { World } from './world.ts';

/** Every API token begins with this; no session does. */
const API_TOKEN_PREFIX = 'tg_';

interface Session {
  readonly client: Client;
  readonly connection: Connection;
  readonly tokenFile: string;
  readonly world: World;
}

/** login, step-up and logout. */
export async function runSession(name: string, args: readonly string[], world: World): Promise<ExitCode> {
  const options = SESSIONS.find((one) => one.name === name)?.options ?? {};
  const { values, positionals } = readArgs(args, { ...options, ...CONNECTION });
  const connection = connectionOf(values, world);
  const { tokenFile } = connection;
  if (tokenFile === null) throw new UsageError(`${name} needs --token-file FILE, or TIDEGATE_TOKEN_FILE`);
  const code = typeof values.code === 'string' ? values.code : null;
  const [username, ...more] = positionals;
  if (more.length > 0 || (username === undefined) === (name === 'login'))
    throw new UsageError(name === 'login' ? 'login takes the NAME of an operator' : `${name} takes no words`);
  if (name === 'login') keepApiToken(tokenFile);
  const client = await connect(name === 'login' ? { ...connection, tokenFile: null } : connection, world);
  const session = { client, connection, tokenFile, world };
  try {
    if (username !== undefined) return await logIn(session, { username, code });
    return name === 'step-up'
      ? await stepUp(session, { code, byPassword: values.password === true })
      : await logOut(session);
  } finally {
    await client.close();
  }
}

async function logIn(session: Session, { username, code }: { username: string; code: string | null }) {
  const { client, tokenFile, world } = session;
  const password = await readSecret(world, 'password');
  const ask = (given: string | null) =>
    client.call('POST /api/v1/auth/login', {
      body: { username, password, ...(given === null ? {} : codeOf(given)) },
    });
  let answer = await ask(code);
  if (!answer.ok && code === null && isCode(answer, 'second_factor_required'))
    answer = await ask(await readSecret(world, 'code of the authenticator app, or a recovery code'));
  if (!answer.ok) return refuse(answer, session);
  const { token, expires_at: until, operator } = answer.body;
  const draft = `${tokenFile}.${randomBytes(6).toString('hex')}`;
  writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: 'wx' });
  renameSync(draft, tokenFile);
  world.out(
    `Logged in as ${operator.username} (${operator.role}) until ${atMinute(until)}. The session is in ${tokenFile}.`,
  );
  return EXIT.ok;
}

async function stepUp(session: Session, { code, byPassword }: { code: string | null; byPassword: boolean }) {
  const { client, world } = session;
  const found = await client.call('GET /api/v1/auth/session', {});
  if (!found.ok) return refuse(found, session);
  const { totp, passkeys } = found.body.factors;
  if (!byPassword && code === null && !totp && passkeys > 0)
    throw new ConnectionFault(
      'you have passkeys alone: prove one in the console, where the browser asks for it',
    );
  const isByCode = !byPassword && (code !== null || totp);
  const body = isByCode
    ? codeOf(code ?? (await readSecret(world, 'code of the authenticator app, or a recovery code')))
    : { password: await readSecret(world, 'password') };
  const answer = await client.call('POST /api/v1/auth/step-up', { body });
  if (!answer.ok) return refuse(answer, session);
  world.out(`Proven until ${atMinute(answer.body.stepped_up_until)}.`);
  return EXIT.ok;
}

async function logOut(session: Session): Promise<ExitCode> {
  const { client, tokenFile, world } = session;
  const answer = await client.call('POST /api/v1/auth/logout', {});
  if (!answer.ok) return refuse(answer, session);
  rmSync(tokenFile);
  world.out(`Logged out. ${tokenFile} is removed.`);
  return EXIT.ok;
}

function codeOf(given: string): { totp: string } | { recovery_code: string } {
  return /^\d{6}$/.test(given) ? { totp: given } : { recovery_code: given };
}

/** An API token is shown once and would be lost. */
function keepApiToken(path: string): void {
  if (!textOf(path).startsWith(API_TOKEN_PREFIX)) return;
  throw new ConnectionFault(`${path} holds an API token; give another --token-file for the session`);
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw new ConnectionFault(error instanceof Error ? error.message : String(error));
  }
}

function isCode({ fault }: Failure<OperationName>, code: string): boolean {
  return fault.kind === 'refused' && fault.code === code;
}

function refuse({ fault }: Failure<OperationName>, { connection, world }: Session): ExitCode {
  for (const line of faultText(fault, { ...connection, isJson: false })) world.err(line);
  return EXIT.failed;
}
