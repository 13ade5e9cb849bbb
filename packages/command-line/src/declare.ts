/** What a shell offers for a value: files, folders, one of a fixed set, or nothing. */
export type Completion = 'file' | 'folder' | readonly string[] | null;

/** An option without a value, in the form that `parseArgs` of Node takes. */
export interface Flag {
  readonly type: 'boolean';
  readonly short?: string;
  readonly about: string;
}

/** An option with a value; `takes` names the value in help, such as FILE. */
export interface Valued {
  readonly type: 'string';
  readonly multiple?: boolean;
  readonly short?: string;
  readonly takes: string;
  readonly completes: Completion;
  readonly about: string;
}

export type Option = Flag | Valued;
export type Options = Readonly<Record<string, Option>>;

/** One way to call a command. */
export interface Call {
  /** Words after the command's name, such as `root make`; empty for the command itself. */
  readonly act?: string;
  /** Operands in order: `NAME`, `a|b` for a fixed set, `FILE` and `DIR` for a path; `...` after the last: one or more. */
  readonly operands?: readonly string[];
  /** Names of options that have to be given. */
  readonly needs?: readonly string[];
  /** Names of options that may be given. */
  readonly takes?: readonly string[];
  /** Options that mean something else here than in other calls of the command. */
  readonly options?: Options;
}

export interface Command {
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  readonly calls: readonly Call[];
  readonly options: Options;
  /** Paragraphs, and lists whose lines begin with two spaces: `  term   meaning`. */
  readonly about: string;
}

/** A program with its commands, in the order of its help. */
export interface Program {
  readonly name: string;
  readonly summary: string;
  /** Section of its man page: 1 for everyone, 8 for root. */
  readonly section: 1 | 8;
  readonly commands: readonly Command[];
  /** Options of every command. */
  readonly common: Options;
  readonly about: string;
}

export const flag = (about: string): Flag => ({ type: 'boolean', about });

export const text = <const T extends string>(takes: T, about: string) =>
  ({ type: 'string', takes, completes: null, about }) as const;

export const file = (about: string, takes = 'FILE') =>
  ({ type: 'string', takes, completes: 'file', about }) as const;

export const folder = (about: string, takes = 'DIR') =>
  ({ type: 'string', takes, completes: 'folder', about }) as const;

/** One of a fixed set. */
export const choice = (values: readonly string[], about: string) =>
  ({ type: 'string', takes: values.join('|'), completes: values, about }) as const;

/** The option may be given more than once. */
export const many = <T extends Valued>(option: T) => ({ ...option, multiple: true }) as const;

/** What a shell offers for an operand. */
export function completionOf(operand: string): Completion {
  const name = operand.replace(/ \.\.\.$/, '');
  if (name === 'FILE') return 'file';
  if (name === 'DIR') return 'folder';
  return name.includes('|') && name === name.toLowerCase() ? name.split('|') : null;
}

/** The options of a call, or of every call of the command that begins with these words. */
export function optionsAt(command: Command, act: string): [name: string, option: Option][] {
  const calls = command.calls.filter((call) => isWithin(call.act ?? '', act));
  const names = new Set(calls.flatMap(({ needs = [], takes = [] }) => [...needs, ...takes]));
  const own: Options = Object.assign({}, ...calls.toReversed().map(({ options = {} }) => options));
  return Object.entries({ ...command.options, ...own }).filter(([name]) => names.has(name));
}

function isWithin(act: string, start: string): boolean {
  return start === '' || act === start || act.startsWith(`${start} `);
}

/** A place on the command line: the words so far, and what may come next. */
export interface Place {
  readonly path: string;
  readonly words: readonly { word: string; about: string }[];
  readonly options: readonly [name: string, option: Option][];
  readonly operands: readonly { completes: Completion; repeats: boolean }[];
}

/** Every place of a program, the shortest first. */
export function placesOf(program: Program): Place[] {
  const common = Object.entries(program.common);
  const words = program.commands.map(({ name, summary }) => ({ word: name, about: summary }));
  const top: Place = { path: '', words, options: common, operands: [] };
  return [top, ...program.commands.flatMap((command) => placesWithin(command, common))];
}

function placesWithin(command: Command, common: Place['options']): Place[] {
  const acts = command.calls.map(({ act = '' }) => act);
  const starts = acts.flatMap((act) => act.split(' ').map((_, i, all) => all.slice(0, i + 1).join(' ')));
  return [...new Set(['', ...starts])].map((start) => {
    const depth = start === '' ? 0 : start.split(' ').length;
    const next = acts
      .filter((act) => act !== start && isWithin(act, start))
      .map((act) => act.split(' ')[depth] ?? '');
    const own = command.calls.find(({ act = '' }) => act === start)?.operands ?? [];
    return {
      path: `${command.name} ${start}`.trim(),
      words: [...new Set(next)].filter(Boolean).map((word) => ({ word, about: '' })),
      options: [...optionsAt(command, start), ...common],
      operands: own.map((operand) => ({
        completes: completionOf(operand),
        repeats: operand.endsWith('...'),
      })),
    };
  });
}
