import { programHelp } from '@tidegate/command-line/help';
import { EXIT, type ExitCode, UsageError } from '@tidegate/terminal/read-args';
import { VERSION } from '../version.ts';
import type { CliWorld } from './command.ts';
import { COMMANDS, PROGRAM } from './commands.ts';

/** Runs the command named by the first word; `tidegate` alone runs the server. */
export async function runCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const [first] = args;
  if (first === '--help' || first === '-h') {
    world.out(programHelp(PROGRAM));
    return EXIT.ok;
  }
  if (first === '--version') {
    world.out(VERSION);
    return EXIT.ok;
  }
  const isNamed = first !== undefined && !first.startsWith('-');
  const name = isNamed ? first : 'server';
  const command = COMMANDS.get(name);
  if (command === undefined) {
    world.err(
      `unknown command ${JSON.stringify(name)}; allowed: ${[...COMMANDS.keys()].join(', ')}\n${programHelp(PROGRAM)}`,
    );
    return EXIT.usage;
  }
  const rest = isNamed ? args.slice(1) : args;
  if (rest.includes('--help') || rest.includes('-h')) {
    world.out(command.usage);
    return EXIT.ok;
  }
  try {
    return await command.run(rest, world);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    world.err(`${error.message}\n${command.usage}`);
    return EXIT.usage;
  }
}
