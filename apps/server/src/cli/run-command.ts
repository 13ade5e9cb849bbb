import { type CliCommand, type CliWorld, EXIT, type ExitCode, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';

/** Runs the command named by the first word; `tidegate` alone runs the server. */
export async function runCommand(args: readonly string[], world: CliWorld): Promise<ExitCode> {
  const [first] = args;
  if (first === '--help' || first === '-h') {
    world.out(usageOf(COMMANDS));
    return EXIT.ok;
  }
  const isNamed = first !== undefined && !first.startsWith('-');
  const name = isNamed ? first : 'server';
  const command = COMMANDS.get(name);
  if (command === undefined) {
    world.err(
      `unknown command ${JSON.stringify(name)}; allowed: ${[...COMMANDS.keys()].join(', ')}\n${usageOf(COMMANDS)}`,
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

function usageOf(commands: ReadonlyMap<string, CliCommand>): string {
  const width = Math.max(...[...commands.keys()].map((name) => name.length));
  const lines = [...commands].map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: tidegate [COMMAND] [OPTIONS]

${lines.join('\n')}

Settings come from SERVICE_* variables: docs/configuration.md lists them.
Each command explains itself with --help. Exit status: 0 done, 1 failed, 2 wrong usage.`;
}
