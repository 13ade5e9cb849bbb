import { advisoriesCommand } from './advisories.ts';
import { backupCommand } from './backup.ts';
import type { CliCommand } from './command.ts';
import { decisionsCommand } from './decisions.ts';
import { doctorCommand } from './doctor.ts';
import { eventsCommand } from './events.ts';
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
import { tagsCommand } from './tags.ts';
import { tokensCommand } from './tokens.ts';
import { unfixedCommand } from './unfixed.ts';
import { vexCommand } from './vex.ts';
import { windowsCommand } from './windows.ts';

/** Every command of `tidegate`, in the order of the usage. */
export const COMMANDS: ReadonlyMap<string, CliCommand> = new Map([
  ['server', serverCommand],
  ['keys', keysCommand],
  ['operators', operatorsCommand],
  ['tokens', tokensCommand],
  ['backup', backupCommand],
  ['restore', restoreCommand],
  ['doctor', doctorCommand],
  ['seals', sealsCommand],
  ['events', eventsCommand],
  ['decisions', decisionsCommand],
  ['advisories', advisoriesCommand],
  ['vex', vexCommand],
  ['policies', policiesCommand],
  ['windows', windowsCommand],
  ['holds', holdsCommand],
  ['reboots', rebootsCommand],
  ['rollouts', rolloutsCommand],
  ['rollback', rollbackCommand],
  ['tags', tagsCommand],
  ['unfixed', unfixedCommand],
]);
