import { readFileSync } from 'node:fs';
import { type Child, startChild } from './child.ts';

/** One section of a runbook: its heading, the `sh` blocks to run, and the `text` blocks with the expected output. */
export type RunbookStep = {
  readonly title: string;
  readonly commands: readonly string[];
  readonly shown: readonly string[];
};

export type CommandRun = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** Matches anything within a line of expected output. */
const ANYTHING = '…';
const HEADING = /^#{1,6} +(.*?) *$/;
const FENCE = /^```(\w*)/;

/** Reads a runbook, so that a test can follow it. Sections without a block are left out. */
export function readRunbook(file: string): RunbookStep[] {
  const steps: { title: string; commands: string[]; shown: string[] }[] = [];
  let title = '';
  let block: { language: string; lines: string[] } | null = null;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const fence = FENCE.exec(line);
    if (block === null) {
      title = HEADING.exec(line)?.[1] ?? title;
      if (fence) block = { language: fence[1] ?? '', lines: [] };
      continue;
    }
    if (!fence) {
      block.lines.push(line);
      continue;
    }
    let step = steps.at(-1);
    if (step?.title !== title) {
      step = { title, commands: [], shown: [] };
      steps.push(step);
    }
    if (block.language === 'sh') step.commands.push(block.lines.join('\n'));
    else if (block.language === 'text') step.shown.push(block.lines.join('\n'));
    else throw new Error(`${file}: a block of ${JSON.stringify(block.language)}; allowed: sh, text`);
    block = null;
  }
  if (block !== null) throw new Error(`${file}: the block under "${title}" does not end`);
  return steps;
}

/** The step with this heading. @throws Error that lists the headings. */
export function stepOf(steps: readonly RunbookStep[], title: string): RunbookStep {
  const step = steps.find((each) => each.title === title);
  if (step !== undefined) return step;
  throw new Error(`no step "${title}" among: ${steps.map((each) => each.title).join(' | ')}`);
}

/**
 * Replaces `$NAME` and `${NAME}` by their values everywhere; unknown names are left to the shell. Values are not
 * quoted, so they must not contain characters that the shell interprets.
 */
export function withVariables(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:\{([A-Z_][A-Z0-9_]*)\}|([A-Z_][A-Z0-9_]*))/g, (whole, braced, bare) => {
    return values[braced ?? bare] ?? whole;
  });
}

/** Runs one block as if pasted into bash; it stops at the first command that fails. */
export async function runCommands(
  commands: string,
  { env, cwd }: { env: Record<string, string>; cwd: string },
): Promise<CommandRun> {
  // --norc: if standard input is a socket, bash assumes a remote login and reads its start-up file.
  const child: Child = startChild('bash', ['--norc', '-euo', 'pipefail', '-c', commands], { env, cwd });
  const { code } = await child.ended;
  return { code, stdout: child.stdout.join('\n'), stderr: child.stderr.join('\n') };
}

/**
 * The expected lines that the output lacks; `…` matches anything within a line. The width of table columns varies with
 * their content, so repeated spaces count as one.
 */
export function missingLines(shown: string, output: string): string[] {
  const lines = output.split('\n').map(squeezed);
  const wanted = shown.split('\n').map(squeezed);
  return wanted.filter((line) => line !== '' && !lines.some(patternOf(line)));
}

function squeezed(line: string): string {
  return line.replace(/\s+/g, ' ').trim();
}

function patternOf(wanted: string): (line: string) => boolean {
  const parts = wanted.split(ANYTHING);
  const escaped = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const pattern = new RegExp(`^${escaped.join('.*')}$`);
  return (line) => pattern.test(line);
}
