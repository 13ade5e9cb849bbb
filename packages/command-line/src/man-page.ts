import type { Command, Options, Program } from './declare.ts';
import { callWords, termOf } from './help.ts';

/** One page for the whole program, in man(7). `date`: YYYY-MM-DD. */
export function manPage(program: Program, { version, date }: { version: string; date: string }): string {
  const { name, section, summary, commands, common, about } = program;
  const title = name.toUpperCase();
  return [
    `.TH "${title}" "${section}" "${date}" "Tidegate ${version}" "Tidegate"`,
    ...['.SH NAME', `${roff(name)} \\- ${roff(summary)}`],
    ...['.SH SYNOPSIS', '.nf', `.B ${roff(name)}`, '[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR]', '.fi'],
    ...['.SH DESCRIPTION', ...prose(about)],
    ...(Object.keys(common).length === 0 ? [] : ['.SH OPTIONS', ...optionEntries(common)]),
    '.SH COMMANDS',
    ...commands.flatMap((command) => commandPart(name, command)),
    '',
  ].join('\n');
}

function commandPart(program: string, command: Command): string[] {
  const calls = command.calls.map((call) => roff(callWords(program, command, call).join(' ')));
  return [
    `.SS "${roff(`${program} ${command.name}`)}"`,
    ...['.nf', ...calls, '.fi'],
    ...['.PP', `${roff(sentence(command.summary))}`],
    ...(command.about.trim() === '' ? [] : ['.PP', ...prose(command.about)]),
    ...optionEntries(command.options),
  ];
}

function optionEntries(options: Options): string[] {
  return Object.entries(options).flatMap(([name, option]) => [
    '.TP',
    `.B ${roff(termOf(name, option))}`,
    roff(sentence(option.about)),
  ]);
}

/** Paragraphs, and lists of `  term   meaning` with deeper lines that go on. */
function prose(about: string): string[] {
  const lines: string[] = [];
  let isList = false;
  for (const line of about.trim().split('\n')) {
    const [, term, meaning] = /^ {2}(\S(?:.*?\S)?)(?: {2,}| (?=\S+$))(.+)$/.exec(line) ?? [];
    if (line.trim() === '') {
      if (lines.at(-1) !== '.PP') lines.push('.PP');
      isList = false;
    } else if (term !== undefined && meaning !== undefined) {
      lines.push('.TP', `.B ${roff(term)}`, roff(meaning));
      isList = true;
    } else {
      if (isList && !line.startsWith(' ')) lines.push('.PP');
      isList = isList && line.startsWith(' ');
      lines.push(roff(line.trim()));
    }
  }
  return lines.flatMap((line, i) => (line === '.PP' && lines[i + 1]?.startsWith('.TP') ? [] : [line]));
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.:]$/.test(text) ? '' : '.'}`;
}

/** Text that roff takes as it is: no escape, request or hyphenated option. */
function roff(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...')
    .replace(/^([.'])/, '\\&$1')
    .replaceAll('"', '\\(dq');
}
