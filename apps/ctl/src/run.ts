import { readFile, stat } from 'node:fs/promises';
import { completionScript, SHELLS } from '@tidegate/command-line/completion-command';
import { commandHelp, programHelp } from '@tidegate/command-line/help';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { type Act, ALL_MAX, SHOWN } from './act.ts';
import { type Connection, ConnectionFault, connect, connectionOf } from './connect.ts';
import { faultText } from './fault-text.ts';
import { LookupFault, NameFault } from './find-named.ts';
import { CONNECTION, commandOf, GROUPS, groupHelp, PROGRAM, PROGRAM_NAME } from './program.ts';
import { readRequest, type Values } from './read-request.ts';
import { readAll, readSecret } from './read-secret.ts';
import { runSession } from './run-session.ts';
import { VERSION } from './version.ts';
import type { World } from './world.ts';

/** Largest file with a request. */
const FILE_MAX_BYTES = 16 * 1_048_576;

/** Runs one command. Never throws for what a person or a server may get wrong. */
export async function run(args: readonly string[], world: World): Promise<ExitCode> {
  try {
    return await dispatch(args, world);
  } catch (error) {
    if (error instanceof UsageError) {
      world.err(error.message);
      return EXIT.usage;
    }
    if (!(error instanceof ConnectionFault || error instanceof NameFault)) throw error;
    world.err(error.message);
    return EXIT.failed;
  }
}

async function dispatch(args: readonly string[], world: World): Promise<ExitCode> {
  const { front, rest } = splitFront(args);
  const [name, ...after] = rest;
  if (name === undefined || name === '--help' || name === '-h') {
    world.out(programHelp(PROGRAM));
    return name === undefined ? EXIT.usage : EXIT.ok;
  }
  if (name === '--version') {
    world.out(VERSION);
    return EXIT.ok;
  }
  const command = PROGRAM.commands.find((one) => one.name === name);
  if (command === undefined) {
    const known = PROGRAM.commands.map((one) => one.name).join(', ');
    throw new UsageError(`unknown command ${JSON.stringify(name)}; allowed: ${known}`);
  }
  const isHelp = after.includes('--help') || after.includes('-h');
  const group = GROUPS.find((one) => one.name === name);
  if (group === undefined) {
    if (isHelp) {
      world.out(commandHelp(PROGRAM_NAME, command));
      return EXIT.ok;
    }
    if (name !== 'completion') return runSession(name, [...after, ...front], world);
    const script = completionScript(after.join(' '), PROGRAM);
    if (script === null) throw new UsageError(`completion needs one of: ${SHELLS.join(', ')}`);
    world.out(script.trimEnd());
    return EXIT.ok;
  }
  const only = group.acts.find(({ words }) => words.act === '');
  const act = only ?? group.acts.find(({ words }) => words.act === after[0]);
  if (isHelp) {
    world.out(act ? commandHelp(PROGRAM_NAME, commandOf({ ...group, acts: [act] })) : groupHelp(group));
    return EXIT.ok;
  }
  if (act === undefined) {
    const known = group.acts.map(({ words }) => words.act).join(', ');
    const found = after[0] === undefined ? '' : `, not ${JSON.stringify(after[0])}`;
    throw new UsageError(`${name} needs one of: ${known}${found}`);
  }
  const words = [...(only ? after : after.slice(1)), ...front];
  try {
    return await runAct(act, words, world);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const called = [PROGRAM_NAME, name, act.words.act].filter(Boolean).join(' ');
    throw new UsageError(`${error.message}\n"${called} --help" shows how it is used.`);
  }
}

/** Options of the connection may stand in front of the command. */
function splitFront(args: readonly string[]): { front: string[]; rest: string[] } {
  const front: string[] = [];
  let at = 0;
  for (;;) {
    const [, name] = /^--([a-z-]+)(?:=|$)/.exec(args[at] ?? '') ?? [];
    const option = name === undefined ? undefined : CONNECTION[name];
    if (option === undefined) return { front, rest: args.slice(at) };
    const isTwo = option.type === 'string' && !args[at]?.includes('=');
    front.push(...args.slice(at, at + (isTwo ? 2 : 1)));
    at += isTwo ? 2 : 1;
  }
}

async function runAct(act: Act, args: readonly string[], world: World): Promise<ExitCode> {
  const { values, positionals } = readArgs(args, { ...act.call.options, ...CONNECTION });
  const connection = connectionOf(values, world);
  const itemsMax = itemsOf(values);
  const { cursor, limit, all: _all, json, csv, ...given } = values;
  const isCsv = csv === true;
  if (isCsv && (json === true || values.all === true))
    throw new UsageError('--csv has every row: give it without --json and --all');
  const client = await connect(connection, world);
  try {
    const request = await readRequest(
      act,
      { operands: positionals, values: given },
      {
        client,
        nowMs: world.now(),
        readFile: (path) => readText(path, world),
        readSecret: (what) => readSecret(world, what),
      },
    );
    const query = {
      ...request.query,
      ...(typeof cursor === 'string' && { cursor }),
      ...(isCsv && typeof limit === 'string' && { limit }),
    };
    const asked = { client, world, isJson: json === true, isCsv, itemsMax, from: connection };
    return await act.run(asked, { ...request, query });
  } catch (error) {
    if (!(error instanceof LookupFault)) throw error;
    return tell(error.fault, connection, world);
  } finally {
    await client.close();
  }
}

function tell(fault: LookupFault['fault'], connection: Connection, { err }: World): ExitCode {
  for (const line of faultText(fault, { ...connection, isJson: false })) err(line);
  return EXIT.failed;
}

function itemsOf({ limit, all }: Values): number {
  if (limit !== undefined && all === true) throw new UsageError('give --limit or --all, not both');
  if (all === true) return ALL_MAX;
  if (limit === undefined) return SHOWN;
  const count = typeof limit === 'string' && /^\d{1,6}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > ALL_MAX) throw new UsageError(`--limit must be a whole number, 1 to ${ALL_MAX}`);
  return count;
}

async function readText(path: string, world: World): Promise<string> {
  if (path === '-') return readAll(world, FILE_MAX_BYTES);
  try {
    if ((await stat(path)).size > FILE_MAX_BYTES)
      throw new UsageError(`${path} is too large: at most 16 MiB`);
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
