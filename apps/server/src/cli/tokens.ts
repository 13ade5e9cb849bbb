import { flag, many, text } from '@tidegate/command-line/declare';
import { CreateRegistrationToken, SEATS_MAX } from '@tidegate/protocol/enrolment-api';
import { REGISTRATION_TOKENS } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { Value } from 'typebox/value';
import { createRegistrationToken, withdrawRegistrationToken } from '../enrolment/registration-tokens.ts';
import { listRegistrationTokens, type RegistrationTokenRow } from '../enrolment/store.ts';
import { tokenView } from '../enrolment/token-view.ts';
import { isAgentId } from '../platform/http/identities.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { showList } from './show-list.ts';

const ACTOR = 'cli';
const PAGE = 200;

const OPTIONS = {
  label: text('TEXT', 'what the token is for'),
  seats: text('N', 'hosts that may enrol with it (1)'),
  'expires-at': text('TIME', 'RFC 3339, at most 90 days from now (24 hours from now)'),
  group: text('NAME', 'the group that those hosts get (none)'),
  tag: many(text('TAG', 'a tag that those hosts get, such as env=prod (none)')),
  json: flag('the result as JSON'),
};

export const tokensCommand = declareCommand({
  name: 'tokens',
  summary: 'registration tokens: list, add, revoke',
  calls: [
    { act: 'list', takes: ['json'] },
    { act: 'add', needs: ['label'], takes: ['seats', 'expires-at', 'group', 'tag', 'json'] },
    { act: 'revoke', operands: ['ID'], takes: ['json'] },
  ],
  options: OPTIONS,
  about: `A registration token lets a host enrol. add prints the secret once, alone on the standard output, and nowhere else.
Revoking a token keeps the hosts that enrolled with it.

All of them work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.
Each change is an event with the actor "cli".`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { json = false, ...options } = values;
    const [name, ...words] = positionals;
    if (name !== 'add' && Object.keys(options).length > 0) {
      throw new UsageError(`--${Object.keys(options)[0]} works only with tokens add`);
    }
    if (name === 'revoke') {
      const [id, ...more] = words;
      if (id === undefined || more.length > 0) throw new UsageError('tokens revoke needs one ID');
      return withInstallation(world, (installation) => revoke({ ...installation, world, json }, id));
    }
    if (words.length > 0) throw new UsageError(`unknown words: ${words.join(' ')}`);
    if (name === 'list') return withInstallation(world, (opened) => list({ ...opened, world, json }));
    if (name !== 'add') throw new UsageError('tokens needs one of: list, add, revoke');
    const request = requestOf(options);
    return withInstallation(world, (opened) => add({ ...opened, world, json }, request));
  },
});

interface Context extends Installation {
  world: CliWorld;
  json: boolean;
}

function requestOf(options: {
  label?: string;
  seats?: string;
  'expires-at'?: string;
  group?: string;
  tag?: string[];
}): CreateRegistrationToken {
  const { label, seats, group, tag: tags, 'expires-at': expiresAt } = options;
  const request: unknown = {
    label,
    ...(seats === undefined ? {} : { seats: /^\d+$/.test(seats) ? Number(seats) : seats }),
    ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    ...(group === undefined ? {} : { group }),
    ...(tags === undefined ? {} : { tags }),
  };
  if (Value.Check(CreateRegistrationToken, request)) return request;
  throw new UsageError(
    `tokens add needs a --label; --seats is 1 to ${SEATS_MAX}, --expires-at a time such as 2026-12-24T18:00:00Z, --group 1 to 128 visible characters, --tag such as env=prod`,
  );
}

async function list({ platform, world, json }: Context): Promise<ExitCode> {
  const tokens: RegistrationTokenRow[] = [];
  for (;;) {
    const before = tokens.at(-1)?.id ?? null;
    const page = await listRegistrationTokens(platform.database.read, { scope: null, limit: PAGE, before });
    tokens.push(...page);
    if (page.length < PAGE) break;
  }
  const shown = tokens.map(tokenView);
  showList(world, REGISTRATION_TOKENS, { items: shown, json });
  return EXIT.ok;
}

async function add({ platform, world, json }: Context, request: CreateRegistrationToken): Promise<ExitCode> {
  const made = await createRegistrationToken(platform, { request, actor: ACTOR });
  if (!made.ok) throw new CommandFault(`${made.path === '/tags' ? '--tag' : '--expires-at'} ${made.message}`);
  const view = tokenView(made.row);
  if (json) {
    world.out(JSON.stringify({ ...view, token: made.secret }));
    return EXIT.ok;
  }
  world.err(`Registration token ${view.id} for ${view.seats} host(s), until ${view.expires_at}. Shown once:`);
  world.out(made.secret);
  return EXIT.ok;
}

async function revoke({ platform, world, json }: Context, id: string): Promise<ExitCode> {
  const isKnown =
    isAgentId(id) && (await withdrawRegistrationToken(platform, { id, scope: null, actor: ACTOR }));
  if (!isKnown) {
    throw new CommandFault(
      `there is no registration token ${JSON.stringify(id)}; \`tidegate tokens list\` shows them`,
    );
  }
  world.out(
    json
      ? JSON.stringify({ id, revoked: true })
      : `Registration token ${id} is revoked: no host can enrol with it.`,
  );
  return EXIT.ok;
}
