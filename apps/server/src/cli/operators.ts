import { choice, flag, text } from '@tidegate/command-line/declare';
import { NewPassword, RESET_ENDS, type ResetEnds, Username } from '@tidegate/protocol/operators-api';
import { ROLES, Role } from '@tidegate/protocol/states';
import { OPERATORS } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import type { Static } from 'typebox';
import { Value } from 'typebox/value';
import { revokeTokensOf } from '../api-tokens/store.ts';
import { addOperator, changeOperator } from '../operators/change-operators.ts';
import type { Changer } from '../operators/end-access.ts';
import { makeSetupLink } from '../operators/first-operator.ts';
import { operatorView, operatorViews } from '../operators/operator-view.ts';
import { createPasswords } from '../operators/passwords/passwords.ts';
import { resetFactors } from '../operators/reset-factors.ts';
import { findOperatorByName, listOperators, type OperatorRow } from '../operators/store.ts';
import { speaksTls } from '../plain-http.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { readNewPassword } from './read-password.ts';
import { showList } from './show-list.ts';

/** Every change is an event with this actor. No session is spared, because none is the caller's. */
const BY: Changer = { username: 'cli', sessionId: '', address: null };
const PAGE = 200;

const OPTIONS = {
  role: choice(ROLES, 'what the new operator may do'),
  keep: text('WHAT', 'what stays, separated by commas: totp, passkeys, identities, sessions, api_tokens'),
  json: flag('the result as JSON'),
};

export const operatorsCommand = declareCommand({
  name: 'operators',
  summary: 'operators: list, add, change, disable, reset second factors, renew the set-up link',
  calls: [
    { act: 'list', takes: ['json'] },
    { act: 'add', operands: ['NAME'], needs: ['role'], takes: ['json'] },
    { act: 'set-password', operands: ['NAME'], takes: ['keep', 'json'] },
    { act: 'set-role', operands: ['NAME', ROLES.join('|')], takes: ['json'] },
    { act: 'disable', operands: ['NAME'], takes: ['json'] },
    { act: 'enable', operands: ['NAME'], takes: ['json'] },
    { act: 'reset-factors', operands: ['NAME'], takes: ['keep', 'json'] },
    { act: 'link', takes: ['json'] },
  ],
  options: OPTIONS,
  about: `A password is asked for at the terminal, or is the first line of the standard input; it is never an argument. A new
password ends everything else that lets the operator in: authenticator app, passkeys, accounts of identity providers,
sessions and API tokens, but for what --keep names. Disabling an operator ends its sessions. The last admin with a password cannot be disabled. reset-factors is for an operator
who lost every second factor: it removes them all, so that the password alone logs in; sessions and API tokens end too,
except those that --keep names. link makes a new one-time link for the first operator, if none exists and the link printed
at the start has expired. If nobody knows a password any more, use set-password.

All of them work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.
Each change is an event with the actor "cli".`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const [name = '', ...words] = positionals;
    const act = ACTS.get(name);
    if (!act) throw new UsageError(`operators needs one of: ${[...ACTS.keys()].join(', ')}`);
    if (words.length !== act.words.length) {
      throw new UsageError(`operators ${name} needs ${act.words.join(' and ') || 'nothing else'}`);
    }
    if (values.role !== undefined && name !== 'add') throw new UsageError(`operators ${name} has no --role`);
    if (values.keep !== undefined && !act.keeps) throw new UsageError(`operators ${name} has no --keep`);
    const keep = act.keeps ? keptOf(values.keep, act.keeps) : [];
    const asked: Asked = { words, role: values.role ?? words[1] ?? null, keep, json: values.json ?? false };
    const role = act.needsRole ? roleOf(asked.role) : null;
    return withInstallation(world, (installation) => act.run({ ...installation, world, ...asked, role }));
  },
});

interface Asked {
  words: readonly string[];
  role: string | null;
  keep: readonly ResetEnds[];
  json: boolean;
}

interface Context extends Installation {
  world: CliWorld;
  words: readonly string[];
  role: Role | null;
  keep: readonly ResetEnds[];
  json: boolean;
}

interface Act {
  words: readonly string[];
  needsRole?: boolean;
  /** What --keep may name. */
  keeps?: readonly ResetEnds[];
  run(context: Context): Promise<ExitCode>;
}

const KEPT_BY_FACTORS = ['sessions', 'api_tokens'] as const satisfies readonly ResetEnds[];

const ACTS: ReadonlyMap<string, Act> = new Map<string, Act>([
  ['list', { words: [], run: list }],
  ['add', { words: ['a NAME'], needsRole: true, run: add }],
  ['set-password', { words: ['a NAME'], keeps: RESET_ENDS, run: setPassword }],
  ['set-role', { words: ['a NAME', 'a ROLE'], needsRole: true, run: setRole }],
  ['disable', { words: ['a NAME'], run: (context) => setDisabled(context, true) }],
  ['enable', { words: ['a NAME'], run: (context) => setDisabled(context, false) }],
  ['reset-factors', { words: ['a NAME'], keeps: KEPT_BY_FACTORS, run: reset }],
  ['link', { words: [], run: link }],
]);

async function list({ platform, world, json }: Context): Promise<ExitCode> {
  const operators: OperatorRow[] = [];
  for (;;) {
    const after = operators.at(-1)?.username ?? null;
    const page = await listOperators(platform.database.read, { limit: PAGE, after });
    operators.push(...page);
    if (page.length < PAGE) break;
  }
  const shown = await operatorViews(platform.database.read, operators);
  showList(world, OPERATORS, { items: shown, json });
  return EXIT.ok;
}

async function add(context: Context): Promise<ExitCode> {
  const { platform, world, role } = context;
  const username = nameOf(context);
  if (!Value.Check(Username, username)) {
    throw new CommandFault(
      `${JSON.stringify(username)} is not a valid name; allowed: 1 to 64 letters, digits and . _ @ -`,
    );
  }
  if (role === null) throw new UsageError('operators add needs --role');
  const password = await newPassword(world, username);
  const passwords = createPasswords({ random: platform.random });
  const row = await addOperator(platform, passwords, { asked: { username, password, role }, by: BY });
  return report(context, row, `Operator ${row.username} added as ${row.role}.`);
}

async function setPassword(context: Context): Promise<ExitCode> {
  const { id, username } = await operatorOf(context);
  const password = await newPassword(context.world, username);
  const row = await change(context, id, { password, keep: [...context.keep] });
  return report(context, row, `The password of ${username} is changed; ${endedBut(context.keep)}.`);
}

async function setRole(context: Context): Promise<ExitCode> {
  const { id, username } = await operatorOf(context);
  if (context.role === null) throw new UsageError('operators set-role needs a ROLE');
  const row = await change(context, id, { role: context.role });
  return report(context, row, `${username} is now ${row.role}.`);
}

async function setDisabled(context: Context, disabled: boolean): Promise<ExitCode> {
  const { id, username } = await operatorOf(context);
  const row = await change(context, id, { disabled });
  const text = disabled ? 'is disabled; its sessions have ended' : 'is active again';
  return report(context, row, `${username} ${text}.`);
}

async function reset(context: Context): Promise<ExitCode> {
  const { id, username } = await operatorOf(context);
  const keep = KEPT_BY_FACTORS.filter((what) => context.keep.includes(what));
  const row = await resetFactors(context.platform, { id, by: BY, keep, endTokens: revokeTokensOf });
  return report(context, row, `The second factors of ${username} are removed; ${endedBut(keep)}.`);
}

async function link({ config, platform, world, json }: Context): Promise<ExitCode> {
  const path = await makeSetupLink(platform, { actor: BY.username });
  if (path === null) {
    throw new CommandFault(
      'operators exist already: use `tidegate operators set-password NAME` for a lost password, or `add` for another operator',
    );
  }
  const host = config.host.includes(':') ? `[${config.host}]` : config.host;
  const scheme = speaksTls(config) ? 'https' : 'http';
  const url = `${config.baseUrl ?? `${scheme}://${host}:${config.port}`}${path}`;
  if (!json) world.err('Open this link once, within an hour, to make the first operator:');
  world.out(json ? JSON.stringify({ url }) : url);
  return EXIT.ok;
}

function change({ platform }: Context, id: string, asked: Parameters<typeof changeOperator>[1]['change']) {
  const passwords = createPasswords({ random: platform.random });
  return changeOperator({ platform, passwords, endTokens: revokeTokensOf }, { id, change: asked, by: BY });
}

function endedBut(keep: readonly ResetEnds[]): string {
  if (keep.length === 0) return 'factors, sessions and API tokens have ended';
  return `factors, sessions and API tokens have ended, except ${keep.map((what) => WORDS[what]).join(', ')}`;
}

const WORDS: Readonly<Record<ResetEnds, string>> = {
  totp: 'the authenticator app',
  passkeys: 'passkeys',
  identities: 'accounts of identity providers',
  sessions: 'sessions',
  api_tokens: 'API tokens',
};

function keptOf(given: string | undefined, allowed: readonly ResetEnds[]): readonly ResetEnds[] {
  const named = given?.split(',') ?? [];
  const keep = allowed.filter((what) => named.includes(what));
  if (keep.length === named.length) return keep;
  throw new UsageError(
    `--keep is ${JSON.stringify(given)}; allowed: ${allowed.join(', ')}, separated by commas`,
  );
}

async function report({ platform, world, json }: Context, row: OperatorRow, text: string): Promise<ExitCode> {
  world.out(json ? JSON.stringify(await operatorView(platform.database.read, row)) : text);
  return EXIT.ok;
}

function nameOf({ words }: Context): string {
  return words[0] ?? '';
}

async function operatorOf(context: Context): Promise<OperatorRow> {
  const name = nameOf(context);
  const row = await findOperatorByName(context.platform.database.read, name);
  if (row) return row;
  throw new CommandFault(
    `there is no operator ${JSON.stringify(name)}; \`tidegate operators list\` shows them`,
  );
}

async function newPassword(world: CliWorld, username: string): Promise<Static<typeof NewPassword>> {
  const password = await readNewPassword(world, username);
  if (Value.Check(NewPassword, password)) return password;
  throw new CommandFault('the password is too short or too long; allowed: 8 to 256 characters');
}

function roleOf(given: string | null): Role {
  if (given !== null && Value.Check(Role, given)) return given;
  throw new UsageError(`unknown role; allowed: ${ROLES.join(', ')}`);
}
