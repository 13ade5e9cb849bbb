import type { Call, Command, Option, Options, Program } from './declare.ts';

/** Longest line of help, in characters. */
const WIDTH = 110;
/** Longest term of a list that keeps its meaning on the same line. */
const TERM_MAX = 30;

/** The text of `PROGRAM COMMAND --help`. */
export function commandHelp(program: string, command: Command): string {
  const parts = [synopsis(program, command), command.about.trim(), optionList(command.options)];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** The text of `PROGRAM --help`. */
export function programHelp({ name, commands, common, about }: Program): string {
  const width = Math.max(...commands.map((command) => command.name.length));
  const list = commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`).join('\n');
  const parts = [`Usage: ${name} [COMMAND] [OPTIONS]`, list, optionList(common), about.trim()];
  return parts.filter((part) => part !== '').join('\n\n');
}

/** `Usage:` and one entry for each way to call the command. */
export function synopsis(program: string, command: Command): string {
  const lead = 'Usage: ';
  return command.calls
    .flatMap((call) => wrap(callWords(program, command, call), { indent: ' '.repeat(program.length + 1) }))
    .map((line, i) => `${i === 0 ? lead : ' '.repeat(lead.length)}${line}`)
    .join('\n');
}

/** The words of a call, each of which stays on one line. */
export function callWords(program: string, command: Command, call: Call): string[] {
  const { act = '', operands = [], needs = [], takes = [] } = call;
  const of = (name: string) => {
    const option = call.options?.[name] ?? command.options[name];
    if (option === undefined) throw new Error(`${command.name} does not declare --${name}`);
    return optionWord(name, option);
  };
  return [
    ...[program, command.name, ...act.split(' ').filter(Boolean)],
    ...operands,
    ...needs.map(of),
    ...takes.map((name) => `[${of(name)}]`),
  ];
}

function optionWord(name: string, option: Option): string {
  if (option.type === 'boolean') return `--${name}`;
  return `--${name} ${option.takes}${option.multiple ? ' ...' : ''}`;
}

function optionList(options: Options): string {
  const entries = Object.entries(options).map(
    ([name, option]) => [termOf(name, option), option.about] as const,
  );
  if (entries.length === 0) return '';
  const width = Math.max(...entries.map(([term]) => Math.min(term.length, TERM_MAX)));
  return ['Options:', ...entries.flatMap(([term, about]) => entry(term, about, width))].join('\n');
}

/** An option as a list shows it: `-f, --file FILE`. */
export function termOf(name: string, option: Option): string {
  const short = option.short === undefined ? '' : `-${option.short}, `;
  return `${short}--${name}${option.type === 'string' ? ` ${option.takes}` : ''}`;
}

function entry(term: string, about: string, width: number): string[] {
  const indent = ' '.repeat(width + 4);
  const lines = wrap(about.split(' '), { width: WIDTH - indent.length }).map((line) => `${indent}${line}`);
  if (term.length > width) return [`  ${term}`, ...lines];
  return lines.map((line, i) => (i === 0 ? `  ${term.padEnd(width)}  ${line.trimStart()}` : line));
}

function wrap(words: readonly string[], { indent = '', width = WIDTH }): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `${indent}${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
