import { flag, type Program } from '@tidegate/command-line/declare';
import { advisoriesCommand } from './advisories.ts';
import { backupCommand } from './backup.ts';
import { type CliCommand, PROGRAM_NAME } from './command.ts';
import { completionCommand } from './completion.ts';
import { decisionsCommand } from './decisions.ts';
import { doctorCommand } from './doctor.ts';
import { eventsCommand } from './events.ts';
import { evidenceCommand } from './evidence.ts';
import { holdsCommand } from './holds.ts';
import { keysCommand } from './keys.ts';
import { operatorsCommand } from './operators.ts';
import { policiesCommand } from './policies.ts';
import { rebootsCommand } from './reboots.ts';
import { restoreCommand } from './restore.ts';
import { rollbackCommand } from './rollback.ts';
import { rolloutsCommand } from './rollouts.ts';
import { sealsCommand } from './seals.ts';
import { serverCommand } from './server.ts';
import { supportCommand } from './support.ts';
import { tagsCommand } from './tags.ts';
import { tokensCommand } from './tokens.ts';
import { unfixedCommand } from './unfixed.ts';
import { verifyEvidenceCommand } from './verify-evidence.ts';
import { vexCommand } from './vex.ts';
import { windowsCommand } from './windows.ts';

const DECLARED: readonly CliCommand[] = [
  serverCommand,
  keysCommand,
  operatorsCommand,
  tokensCommand,
  backupCommand,
  restoreCommand,
  doctorCommand,
  supportCommand,
  sealsCommand,
  eventsCommand,
  evidenceCommand,
  verifyEvidenceCommand,
  decisionsCommand,
  advisoriesCommand,
  vexCommand,
  policiesCommand,
  windowsCommand,
  holdsCommand,
  rebootsCommand,
  rolloutsCommand,
  rollbackCommand,
  tagsCommand,
  unfixedCommand,
];

/** `tidegate` as its help, its completion and its man page show it. */
export const PROGRAM: Program = {
  name: PROGRAM_NAME,
  summary: 'the server of Tidegate, and its administration',
  section: 1,
  common: { help: { ...flag('show how the command is used'), short: 'h' } },
  about: `Settings come from SERVICE_* variables: docs/configuration.md lists them.
Each command explains itself with --help; --version prints the version. Exit status: 0 done, 1 failed, 2 wrong usage.`,
  get commands() {
    return [...COMMANDS.values()];
  },
};

/** Every command of `tidegate`, in the order of the usage. */
export const COMMANDS: ReadonlyMap<string, CliCommand> = new Map(
  [...DECLARED, completionCommand(PROGRAM)].map((command) => [command.name, command]),
);
