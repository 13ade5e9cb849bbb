import { REQUESTS } from '@tidegate/client/requests';
import { declareCompletion } from '@tidegate/command-line/completion-command';
import { type Command, file, flag, type Options, type Program, text } from '@tidegate/command-line/declare';
import type { Act } from './act.ts';
import type { Group } from './group.ts';
import { COMMANDS, HOSTS, TAGS_GROUP } from './groups/hosts.ts';
import { IDENTITY_PROVIDERS } from './groups/identity-providers.ts';
import { CHANNELS_GROUP, NOTIFICATIONS_GROUP } from './groups/notifications.ts';
import { ACCOUNT, AGENT_PACKAGES, API_TOKENS, OPERATORS_GROUP, TOKENS } from './groups/people.ts';
import { HOLDS_GROUP, POLICIES_GROUP, ROLLOUTS_GROUP, WINDOWS_GROUP } from './groups/policies.ts';
import { REBOOTS_GROUP } from './groups/reboots.ts';
import {
  DIVERGENCES,
  EXCEPTIONS,
  GATE_POLICY,
  ORIGINS,
  UNFIXED_GROUP,
  VEX,
  VULNERABILITIES_GROUP,
} from './groups/rules.ts';
import {
  EVENTS,
  EVIDENCE,
  HEALTH,
  OVERVIEW,
  RATE_LIMITS,
  RESYNC,
  SIGNING_KEYS,
  VIEWS,
} from './groups/server.ts';
import { DECISIONS, PACKAGES, ROLLBACK, UPDATES } from './groups/updates.ts';
import { SESSIONS } from './session-commands.ts';

export const PROGRAM_NAME = 'tidegatectl';

export const GROUPS: readonly Group[] = [
  ...[OVERVIEW, HOSTS, TAGS_GROUP, UPDATES, PACKAGES, ROLLBACK, DECISIONS, COMMANDS],
  ...[POLICIES_GROUP, ROLLOUTS_GROUP, WINDOWS_GROUP, HOLDS_GROUP, REBOOTS_GROUP],
  ...[VULNERABILITIES_GROUP, UNFIXED_GROUP, VEX, EXCEPTIONS, ORIGINS, DIVERGENCES, GATE_POLICY],
  ...[TOKENS, AGENT_PACKAGES, API_TOKENS, OPERATORS_GROUP, IDENTITY_PROVIDERS, ACCOUNT, VIEWS],
  ...[EVENTS, EVIDENCE, CHANNELS_GROUP, NOTIFICATIONS_GROUP, SIGNING_KEYS, RATE_LIMITS, RESYNC, HEALTH],
];

/** Which server, in whose name: options of every command. */
export const CONNECTION: Options = {
  server: text('URL', 'the server, such as https://tidegate.example (TIDEGATE_SERVER)'),
  'token-file': file('a file with an API token, or one that login has written (TIDEGATE_TOKEN_FILE)'),
  'ca-file': file('certificates in PEM that are trusted in place of the public ones (TIDEGATE_CA_FILE)'),
  'plain-http': flag('also http:// to another machine, where everybody between can read the token'),
};

/** `tidegatectl` as its help, its completion and its man page show it. */
export const PROGRAM: Program = {
  name: PROGRAM_NAME,
  summary: 'operates Tidegate through its API',
  section: 1,
  common: { ...CONNECTION, help: { ...flag('show how the command is used'), short: 'h' } },
  about: `Does what the console does, from a terminal or a script: the role and the scopes of the token decide what it may. It needs neither the
database nor the keys of the server; "tidegate" on the server works on those.

Lists are tables, cut to the width of the terminal; --json prints the answer of the server instead. What is shown once, such as a new
token, stands alone on the standard output. Exit status: 0 done, 1 refused or failed, 2 wrong usage.

  HTTPS_PROXY           the proxy on the way to the server; NO_PROXY names what goes around it
  NODE_EXTRA_CA_CERTS   certificates that are trusted beside the public ones`,
  get commands() {
    return [...GROUPS.map(commandOf), ...SESSIONS, declareCompletion(PROGRAM_NAME)];
  },
};

/** A group as a command: its acts are its calls. */
export function commandOf(group: Group): Command {
  const { name, summary, acts } = group;
  return {
    ...{ name, summary, about: meanings(group) },
    calls: acts.map(({ call }) => call),
    options: Object.assign({}, ...acts.toReversed().map(({ call }) => call.options)),
  };
}

/** The help of a whole group: each act in a line. */
export function groupHelp(group: Group): string {
  const called = `${PROGRAM_NAME} ${group.name}`;
  return [
    `Usage: ${called} ACT [OPTIONS]`,
    meanings(group),
    `"${called} ACT --help" shows its words and options.`,
  ].join('\n\n');
}

function meanings({ about = '', acts }: Group): string {
  const width = Math.max(...acts.map(({ words }) => words.act.length));
  const lines = acts.map((act) => `  ${act.words.act.padEnd(width)}   ${meaningOf(act)}`);
  const isOne = acts.length === 1;
  const list = isOne && acts[0] ? meaningOf(acts[0]) : lines.join('\n');
  return [...(isOne ? [list, about] : [about, list])].filter((part) => part !== '').join('\n\n');
}

/** What the document says of the operation, without the numbers of rules, and who may call it. */
function meaningOf({ operation, words }: Act): string {
  const { summary, role, scope } = REQUESTS[operation];
  const plain = words.means ?? summary.replace(/ \([A-Z]\d[^)]*\)/g, '');
  if (role === null) return plain;
  return `${plain} (${role}; ${scope === null ? 'needs a login' : `scope ${scope}`})`;
}
