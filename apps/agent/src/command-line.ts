import { parseArgs } from 'node:util';

/** Exit codes: done; failed, worth another try; usage, or an error that needs the operator. */
export const EXIT = { ok: 0, failed: 1, terminal: 2 } as const;

export const DEFAULT_CONFIG_FOLDER = '/var/lib/tidegate-agent';

export const USAGE = `Usage: tidegate-agent COMMAND [OPTIONS]

Commands:
  preflight look for what would keep an enrolment from working; needs no token
  enrol     register this host with a server
  run       check in, scan, and carry out what is approved
  status    show what this host is enrolled to
  doctor    look for what would keep the agent from working
  execute   carry out one job as root, without network (started by systemd)
  observe   look for processes that still run replaced files (started by systemd)
  probes    run the probes of this host now, and show what they say
  probe     run them as root and leave what they say for the agent (started by systemd)
  hooks     run the hooks of a job as root (started by systemd)
  version   print the version

Options of all commands:
  --config DIR   folder of config.json (${DEFAULT_CONFIG_FOLDER})
  --json         print the result as JSON
  --help         show this text

enrol:
  --server URL             address of the server (https://; http:// on this machine)
  --token -                reads the registration token from standard input; without the
                           option it is taken from TIDEGATE_TOKEN. A token given here
                           works too, but every user can read it while enrol runs
  --user NAME              user that will run the agent (as root)
  --replace                throw an earlier enrolment away
  --allow-insecure-http    take an http:// address of another machine, for tests
  --machine-id-source S    what names this machine, one of
                             auto            machine-id, but refused in a container (default)
                             machine-id      /etc/machine-id
                             dmi             the firmware's id of the machine
                             cloud           the instance id that cloud-init left
                             machine-id+dmi  both: a copied disk is another machine
                             file:/path      what another file holds
  --ecosystems LIST        package managers to look at, such as apt,npm, and no others;
                           all of apt, dnf, npm and pypi that are there unless given
  --npm-project DIR        project folder that npm keeps; may be repeated
  --npm-registry URL       registry to ask instead of the public one
  --pypi-environment DIR   virtual environment beside those that are found; may be repeated
  --pypi-index URL         simple index to ask instead of the public one
  --apt-config FILE, --dnf-root DIR, --npm-prefix DIR, --executor-state DIR, --spool DIR
                           places on a host that is not set up as usual

run:
  --once         one full round, then exit

execute:
  --job DIR      the job folder
  --spool DIR    every whole job in this folder; what is no job is set aside
  --linger N     stays N seconds at least and looks for further jobs, so that systemd
                 never counts too many starts
  --state DIR    what the executor trusts (/var/lib/tidegate-executor)
  --probes FILE  where root's probes leave what they say (/run/tidegate-probe/report.json)

observe:
  --out FILE     where the report goes (/run/tidegate-observer/services.json)

probe:
  --out FILE     where the report goes (/run/tidegate-probe/report.json)
  --rest N       stays N seconds after it, so that systemd never counts too many starts

hooks:
  --run NAME     before-ID or after-ID of a command

probe, probes, hooks:
  --state DIR    the executor's folder (/var/lib/tidegate-executor)

run, status, doctor, execute, probe, probes, hooks:
  --policy FILE  what this host allows, whatever the server says (/etc/tidegate/policy.json);
                 probes.d and hooks.d are beside it

run, execute:
  --host-root DIR  the host that is restarted, with its boot id and the programs that do it (/)

Exit status: 0 done, 1 failed and worth another try, 2 wrong usage or an error that needs you.
Only one process runs on a configuration; a second one exits at once with status 1.
`;

const COMMANDS = [
  'preflight',
  'enrol',
  'run',
  'status',
  'doctor',
  'execute',
  'observe',
  'probes',
  'probe',
  'hooks',
  'version',
] as const;
export type CommandName = (typeof COMMANDS)[number];

const OPTIONS = {
  config: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  server: { type: 'string' },
  token: { type: 'string' },
  user: { type: 'string' },
  replace: { type: 'boolean' },
  'allow-insecure-http': { type: 'boolean' },
  'machine-id-source': { type: 'string' },
  ecosystems: { type: 'string' },
  'apt-config': { type: 'string' },
  'dnf-root': { type: 'string' },
  'npm-prefix': { type: 'string' },
  'npm-project': { type: 'string', multiple: true },
  'npm-registry': { type: 'string' },
  'pypi-environment': { type: 'string', multiple: true },
  'pypi-index': { type: 'string' },
  'executor-state': { type: 'string' },
  spool: { type: 'string' },
  once: { type: 'boolean' },
  job: { type: 'string' },
  state: { type: 'string' },
  linger: { type: 'string' },
  policy: { type: 'string' },
  out: { type: 'string' },
  probes: { type: 'string' },
  rest: { type: 'string' },
  run: { type: 'string' },
  'host-root': { type: 'string' },
} as const;

type OptionName = keyof typeof OPTIONS;

const COMMON: readonly OptionName[] = ['config', 'json', 'help'];
const TAKES: Record<CommandName, readonly OptionName[]> = {
  preflight: [
    'server',
    'allow-insecure-http',
    'machine-id-source',
    'apt-config',
    'dnf-root',
    'npm-prefix',
    'executor-state',
    'spool',
  ],
  enrol: [
    'server',
    'token',
    'user',
    'replace',
    'allow-insecure-http',
    'machine-id-source',
    'ecosystems',
    'apt-config',
    'dnf-root',
    'npm-prefix',
    'npm-project',
    'npm-registry',
    'pypi-environment',
    'pypi-index',
    'executor-state',
    'spool',
  ],
  run: ['once', 'policy', 'host-root'],
  status: ['policy'],
  doctor: ['policy'],
  execute: ['job', 'spool', 'state', 'policy', 'probes', 'linger', 'host-root'],
  observe: ['out'],
  probes: ['state', 'policy'],
  probe: ['out', 'state', 'policy', 'rest'],
  hooks: ['run', 'state', 'policy'],
  version: [],
};

export type Parsed =
  | { ok: true; command: CommandName; values: ReturnType<typeof readOptions>['values'] }
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
  const command = COMMANDS.find((known) => known === name);
  if (command === undefined) return usage(`"${name}" is not a command`);
  if (others.length > 0) return usage(`"${others[0]}" is not expected here`);
  const allowed: readonly string[] = [...COMMON, ...TAKES[command]];
  const foreign = Object.keys(values).find((option) => !allowed.includes(option));
  if (foreign !== undefined) return usage(`${command} has no option --${foreign}`);
  return { ok: true, command, values };
}

function readOptions(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, strict: true });
}

function usage(detail: string): Parsed {
  return { ok: false, help: false, detail };
}
