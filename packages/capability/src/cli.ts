#!/usr/bin/env node
import { closeSync, openSync, readSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Checked, checkFiles, type NamedText } from './check-files.ts';
import { explanationLines, findingLine } from './describe.ts';
import { commandsOf, explainCall } from './explain.ts';
import { quote } from './findings.ts';
import { TARGETS, type Target } from './parse.ts';
import type { Acl } from './resolve.ts';
import { schemaOfFile } from './schema.ts';
import { MAX_SOURCE } from './source.ts';

const USAGE = `Usage: tidegate-capability <check|explain|list|schema> [options]

  check FILE…    what is wrong in capability files, as FILE:LINE:COLUMN: error: …
  explain FILE… --window W --command C [--webview V] [--origin local|URL]
                 whether a call passes, and which capabilities and permissions decided that
  list FILE… --window W [--webview V] [--origin local|URL]
                 every command that a window and webview may use
  schema         the JSON Schema of a capability file, for editors

  --permissions FILE  permission manifest of further plugins; may be given several times
  --platform P        ${TARGETS.join(', ')}; the one it runs on, unless given
  --window W          label of the window
  --webview V         label of the webview; that of the window, unless given
  --origin O          local, or the URL of the document; local, unless given
  --command C         as its permission is named: core:window:close, fs:read-file, my-command
  --json              the answer as one JSON object
  --help              this text

Files end in .json or .toml. Exit code: 0 no errors, or the call is allowed; 1 errors, or it is refused; 2 usage.
`;

const TARGET_OF: Readonly<Record<string, Target>> = { darwin: 'macOS', win32: 'windows', android: 'android' };
/** UTF-8 needs at most three bytes for a code unit. */
const MAX_BYTES = MAX_SOURCE * 3;

type Options = NonNullable<ReturnType<typeof readOptions>>['values'];

process.exitCode = main(process.argv.slice(2));

function main(args: readonly string[]): number {
  const options = readOptions(args);
  if (options?.values.help) return print(USAGE, 0);
  const [command, ...files] = options?.positionals ?? [];
  if (options === null || command === undefined)
    return usage('a command is missing, or an option is not known');
  const { values } = options;
  if (command === 'schema')
    return files.length === 0
      ? print(`${JSON.stringify(schemaOfFile(), null, 2)}\n`, 0)
      : usage('schema has no FILE');
  if (command !== 'check' && command !== 'explain' && command !== 'list')
    return usage(`${quote(command)} is no command`);
  const platform = values.platform ?? TARGET_OF[process.platform] ?? 'linux';
  if (!TARGETS.some((target) => target === platform))
    return usage(`${quote(platform)} is no platform; allowed are ${TARGETS.join(', ')}`);
  if (files.length === 0) return usage(`${command} needs a FILE`);
  if (command !== 'check' && values.window === undefined) return usage(`${command} needs --window`);
  if (command === 'explain' && values.command === undefined) return usage('explain needs --command');
  const manifests = (values.permissions ?? []).map(readNamed);
  const checked = checkFiles(files.map(readNamed), { manifests, platform });
  if (command === 'check' || checked.acl === null) return check(checked, values, files.length);
  return command === 'explain' ? explain(checked.acl, values) : list(checked.acl, values);
}

function check({ findings, capabilities }: Checked, { json }: Options, files: number): number {
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  if (json)
    return print(`${JSON.stringify({ ok: errors === 0, capabilities, findings })}\n`, errors === 0 ? 0 : 1);
  for (const finding of findings) process.stdout.write(`${findingLine(finding)}\n`);
  const warnings = findings.length - errors;
  const summary = [
    count(files, 'file'),
    `${capabilities} ${capabilities === 1 ? 'capability' : 'capabilities'}`,
  ];
  summary.push(count(errors, 'error'), count(warnings, 'warning'));
  process.stderr.write(`${summary.join(', ')}\n`);
  return errors === 0 ? 0 : 1;
}

function explain(acl: Acl, values: Options): number {
  const request = { command: values.command ?? '', ...callerOf(values) };
  const explanation = explainCall(acl, request);
  const exitCode = explanation.decision.allowed ? 0 : 1;
  if (values.json) return print(`${JSON.stringify({ ...request, ...explanation })}\n`, exitCode);
  return print(`${explanationLines(request, explanation).join('\n')}\n`, exitCode);
}

function list(acl: Acl, values: Options): number {
  const caller = callerOf(values);
  const commands = commandsOf(acl, caller);
  if (values.json) return print(`${JSON.stringify({ ...caller, commands })}\n`, 0);
  return print(commands.map((command) => `${command}\n`).join(''), 0);
}

function callerOf({ window = '', webview = window, origin = 'local' }: Options) {
  return { window, webview, origin };
}

function readOptions(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        permissions: { type: 'string', multiple: true },
        platform: { type: 'string' },
        window: { type: 'string' },
        webview: { type: 'string' },
        origin: { type: 'string' },
        command: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch {
    return null;
  }
}

function readNamed(name: string): NamedText {
  try {
    const bytes = readAtMost(name, MAX_BYTES);
    return {
      name,
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes),
      fault: '',
    };
  } catch (error) {
    const why = error instanceof TypeError ? 'is not valid UTF-8' : `cannot be read: ${messageOf(error)}`;
    return { name, text: null, fault: why };
  }
}

/** No more than is looked at, whatever the file is: a device has no end. */
function readAtMost(name: string, bytes: number): Buffer {
  const file = openSync(name, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let left = bytes + 1; left > 0; ) {
      const chunk = Buffer.alloc(Math.min(left, 65_536));
      const length = readSync(file, chunk);
      if (length === 0) break;
      chunks.push(chunk.subarray(0, length));
      left -= length;
    }
    return Buffer.concat(chunks);
  } finally {
    closeSync(file);
  }
}

function usage(message: string): number {
  process.stderr.write(`tidegate-capability: ${message}\n\n${USAGE}`);
  return 2;
}

function print(text: string, exitCode: number): number {
  process.stdout.write(text);
  return exitCode;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
