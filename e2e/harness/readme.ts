import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const README = fileURLToPath(new URL('../../README.md', import.meta.url));
const BLOCK = /^```\n(.*?)^```$/gms;
/** What a line of a block begins with, if it is a command and no part of a picture. */
const PROGRAM = /^(?:apt|dnf|podman|npm|tidegate|tidegatectl) /;

/** The commands in the README, without what it says beside them. */
export function readmeCommands(): string[] {
  const blocks = [...readFileSync(README, 'utf8').matchAll(BLOCK)].map(([, text = '']) => text);
  return blocks.flatMap((text) =>
    text
      .split('\n')
      .filter((line) => PROGRAM.test(line))
      .map((line) => line.split(/ {2,}| # /)[0] ?? ''),
  );
}

/** The one command that begins so. @throws Error that lists the commands. */
export function readmeCommand(start: string): string {
  const [command, ...more] = readmeCommands().filter((each) => each.startsWith(start));
  if (command !== undefined && more.length === 0) return command;
  throw new Error(`not one command begins with "${start}" among: ${readmeCommands().join(' | ')}`);
}
