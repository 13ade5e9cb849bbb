import { parseArgs } from 'node:util';
import { completionScript } from '@tidegate/command-line/completion-command';
import { choice, file, flag, folder, many, type Program, text } from '@tidegate/command-line/declare';
import { commandHelp, programHelp } from '@tidegate/command-line/help';

/** Exit codes: done; failed, worth another try; usage, or an error that needs the operator. */
export const EXIT = { ok: 0, failed: 1, terminal: 2 } as const;

export const DEFAULT_CONFIG_FOLDER = '/var/lib/tidegate-agent';

const OPTIONS = {
  server: text('URL', 'address of the server (https://; http:// on this machine)'),
  token: text(
    '-',
    'reads the registration token from standard input; without the option it is taken from TIDEGATE_TOKEN. A token given here works too, but every user can read it while enrol runs',
  ),
  user: text('NAME', 'user that will run the agent (as root)'),
  replace: flag('throw an earlier enrolment away'),
  'no-repository': flag(
    'leave the sources of apt and dnf as they are; without it root has them offer updates of the agent from the server',
  ),
  'allow-insecure-http': flag('take an http:// address of another machine, for tests'),
  'machine-id-source': choice(
    ['auto', 'machine-id', 'dmi', 'cloud', 'machine-id+dmi', 'file:/path'],
    "what names this machine. auto: /etc/machine-id, but refused in a container (default). dmi: the firmware's id. cloud: the instance id that cloud-init left. machine-id+dmi: both, so that a copied disk is another machine. file:/path: what another file holds",
  ),
  ecosystems: text(
    'LIST',
    'package managers to look at, such as apt,npm, and no others (all of apt, dnf, npm and pypi that are there)',
  ),
  'npm-project': many(folder('project folder that npm keeps; may be repeated')),
  'npm-registry': text('URL', 'registry to ask instead of the public one'),
  'pypi-environment': many(folder('virtual environment beside those that are found; may be repeated')),
  'pypi-index': text('URL', 'simple index to ask instead of the public one'),
  'apt-config': file('apt configuration of a host that is not set up as usual'),
  'dnf-root': folder('install root of such a host'),
  'npm-prefix': folder("prefix of global npm packages, where it is not npm's own"),
  'executor-state': folder('what the executor trusts, where it is not the usual folder'),
  'agent-versions': folder('where versions of the agent lie side by side, where it is not the usual folder'),
  'release-key': file('public half of the release key (/etc/tidegate/release.pem)'),
  spool: folder(
    'spool of jobs, where it is not the usual folder; execute: every whole job in it, and what is no job is set aside',
  ),
  once: flag('one full round, then exit'),
  job: folder('the folder of one job'),
  state: folder('what the executor trusts (/var/lib/tidegate-executor)'),
  linger: text(
    'N',
    'stays N seconds at least and looks for further jobs, so that systemd never counts too many starts',
  ),
  policy: file(
    'what this host allows, whatever the server says (/etc/tidegate/policy.json); probes.d and hooks.d are beside it',
  ),
  out: file('where the result goes; support: a new file, for its owner only'),
  log: file("the agent's log, whose last lines go in, without their secrets; - reads the standard input"),
  probes: file("where root's probes leave what they say (/run/tidegate-probe/report.json)"),
  rest: text('N', 'stays N seconds after it, so that systemd never counts too many starts'),
  run: text('NAME', 'before-ID or after-ID of a command'),
  'host-root': folder('the host that is restarted, with its boot id and the programs that do it (/)'),
};

const COMMON = {
  config: folder(`folder of config.json (${DEFAULT_CONFIG_FOLDER})`),
  json: flag('print the result as JSON'),
  help: { ...flag('show this text'), short: 'h' },
};

type OptionName = keyof typeof OPTIONS;
interface Declared {
  readonly summary: string;
  readonly operands?: readonly string[];
  readonly needs?: readonly OptionName[];
  readonly takes?: readonly OptionName[];
  readonly about?: string;
}

/** Where the package managers and root's folders are, on a host that is not set up as usual. */
const PLACES: readonly OptionName[] = [
  'apt-config',
  'dnf-root',
  'npm-prefix',
  'agent-versions',
  'release-key',
  'executor-state',
  'spool',
];

const COMMANDS = {
  preflight: {
    summary: 'look for what would keep an enrolment from working; needs no token',
    needs: ['server'],
    takes: ['allow-insecure-http', 'machine-id-source', ...PLACES],
    about:
      'Checks the way to the server, the machine id, the package managers and disk space. It writes nothing.',
  },
  enrol: {
    summary: 'register this host with a server',
    needs: ['server'],
    takes: [
      ...(['token', 'user', 'replace', 'allow-insecure-http', 'machine-id-source', 'ecosystems'] as const),
      ...(['no-repository', 'policy'] as const),
      ...(['npm-project', 'npm-registry', 'pypi-environment', 'pypi-index'] as const),
      ...PLACES,
    ],
  },
  run: {
    summary: 'check in, scan, and carry out what is approved',
    takes: ['once', 'policy', 'host-root'],
  },
  status: { summary: 'show what this host is enrolled to', takes: ['policy'] },
  doctor: { summary: 'look for what would keep the agent from working', takes: ['policy'] },
  support: {
    summary: 'write a support bundle without secrets',
    needs: ['out'],
    takes: ['log', 'policy'],
    about: `Collects versions, machine, what doctor finds and the enrolment without its tokens. The list of files is printed, and is in
the bundle as manifest.json. With systemd:
journalctl -u tidegate-agent -n 2000 | tidegate-agent support --out FILE --log -`,
  },
  execute: {
    summary: 'carry out one job as root, without network (started by systemd)',
    takes: ['job', 'spool', 'state', 'policy', 'probes', 'linger', 'host-root'],
  },
  observe: {
    summary: 'look for processes that still run replaced files (started by systemd)',
    takes: ['out'],
    about: 'The report goes to /run/tidegate-observer/services.json unless --out is given.',
  },
  probes: {
    summary: 'run the probes of this host now, and show what they say',
    takes: ['state', 'policy'],
  },
  probe: {
    summary: 'run them as root and leave what they say for the agent (started by systemd)',
    takes: ['out', 'state', 'policy', 'rest'],
    about: 'The report goes to /run/tidegate-probe/report.json unless --out is given.',
  },
  hooks: {
    summary: 'run the hooks of a job as root (started by systemd)',
    takes: ['run', 'state', 'policy'],
  },
  'side-by-side': {
    summary: 'let root keep versions of the agent side by side, so that they are updated through the server',
    about: `For hosts without a package of the agent, as root. Copies this program to /usr/lib/tidegate-agent/versions, makes the
command a link to the proven version, and lets tidegate-agent.service run the one that may be on trial. Nothing is offered
before the public half of the release key is in /etc/tidegate/release.pem.`,
  },
  completion: { summary: 'print a completion script for a shell', operands: ['bash|zsh|fish'] },
  version: { summary: 'print the version' },
} satisfies Record<string, Declared>;

export type CommandName = keyof typeof COMMANDS;
const DECLARED: Readonly<Record<CommandName, Declared>> = COMMANDS;

/** `tidegate-agent` as its help, its completion and its man page show it. */
export const PROGRAM: Program = {
  name: 'tidegate-agent',
  summary: 'the agent of Tidegate on a host',
  section: 8,
  common: COMMON,
  about: `Each command explains itself with --help.
Exit status: 0 done, 1 failed and worth another try, 2 wrong usage or an error that needs you.
Only one process runs on a configuration; a second one exits at once with status 1.`,
  commands: Object.entries(DECLARED).map(
    ([name, { summary, operands = [], needs = [], takes = [], about = '' }]) => {
      const names: readonly string[] = [...needs, ...takes];
      const options = Object.fromEntries(
        Object.entries(OPTIONS).filter(([option]) => names.includes(option)),
      );
      return { name, summary, calls: [{ operands, needs, takes }], options, about };
    },
  ),
};

/** The text of --help: of the command that the words name, or of the program. */
export function helpFor(args: readonly string[]): string {
  const command = PROGRAM.commands.find(({ name }) => args.includes(name));
  return `${command === undefined ? programHelp(PROGRAM) : commandHelp(PROGRAM.name, command)}\n`;
}

/** The completion script of a shell; null for a shell without one. */
export function completionOf(shell: string): string | null {
  return completionScript(shell, PROGRAM);
}

export type Parsed =
  | {
      ok: true;
      command: CommandName;
      operands: readonly string[];
      values: ReturnType<typeof readOptions>['values'];
    }
  | { ok: false; help: true }
  | { ok: false; help: false; detail: string };

/** Reads the arguments strictly: an option of another command is an error as well. */
export function parseCommandLine(args: readonly string[]): Parsed {
  let read: ReturnType<typeof readOptions>;
  try {
    read = readOptions(args);
  } catch (error) {
    // parseArgs throws for unknown options and missing values, with a message made for people.
    return usage(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = read;
  if (values.help) return { ok: false, help: true };
  const [name, ...others] = positionals;
  if (name === undefined) return usage('no command is given');
  if (!isCommand(name)) return usage(`"${name}" is not a command`);
  const { operands = [], needs = [], takes = [] } = DECLARED[name];
  if (others.length > operands.length) return usage(`"${others[operands.length]}" is not expected here`);
  if (others.length < operands.length) return usage(`${name} needs ${operands.join(' ')}`);
  const allowed: readonly string[] = [...Object.keys(COMMON), ...needs, ...takes];
  const foreign = Object.keys(values).find((option) => !allowed.includes(option));
  if (foreign !== undefined) return usage(`${name} has no option --${foreign}`);
  return { ok: true, command: name, operands: others, values };
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}

function readOptions(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    options: { ...COMMON, ...OPTIONS },
    allowPositionals: true,
    strict: true,
  });
}

function usage(detail: string): Parsed {
  return { ok: false, help: false, detail };
}
