import { type Completion, type Place, type Program, placesOf } from './declare.ts';
import { briefly } from './shell-tables.ts';

/** A script for `PROGRAM completion fish | source`, for fish 3. It runs no program. */
export function fishCompletion(program: Program): string {
  const name = `__fish_${program.name.replaceAll('-', '_')}`;
  const places = placesOf(program);
  const valued = places.flatMap(({ path, options }) =>
    options.flatMap(([option, { type, short }]) => {
      if (type === 'boolean') return [];
      return [`'${path} --${option}'`, ...(short ? [`'${path} -${short}'`] : [])];
    }),
  );
  const known = places.map(({ path }) => `'${path}'`).filter((path) => path !== "''");
  return `# fish completion for ${program.name}
function ${name}_at --description 'the command before the cursor, and how many operands follow it'
    set --local path ''
    set --local count 0
    set --local skip 0
    for word in (commandline --tokenize --cut-at-cursor --current-process)[2..]
        if test $skip -eq 1
            set skip 0
        else if string match --quiet -- '-*' $word
            contains -- "$path $word" ${valued.join(' ')}; and set skip 1
        else if test $count -eq 0; and contains -- (string trim -- "$path $word") ${known.join(' ')}
            set path (string trim -- "$path $word")
        else
            set count (math $count + 1)
        end
    end
    test "$path" = "$argv[1]"; or return 1
    test (count $argv) -eq 1; and return 0
    test $count -eq $argv[2]; and return 0
    test (count $argv) -eq 3; and test $count -gt $argv[2]
end

complete --command ${program.name} --no-files
${places.flatMap((place) => linesOf(program.name, name, place)).join('\n')}
`;
}

function linesOf(program: string, name: string, { path, words, options, operands }: Place): string[] {
  const at = (...more: readonly (string | number)[]) =>
    `complete --command ${program} --condition "${name}_at '${path}'${more.map((each) => ` ${each}`).join('')}"`;
  return [
    ...words.map(({ word, about }) => `${at(0)} --arguments ${word}${description(about)}`),
    ...options.map(([option, declared]) => {
      const short = declared.short === undefined ? '' : ` --short-option ${declared.short}`;
      const value = declared.type === 'boolean' ? '' : shownValue(declared.completes);
      return `${at()} --long-option ${option}${short}${value}${description(declared.about)}`;
    }),
    ...operands.flatMap(({ completes, repeats }, i) => {
      const offered = operandOf(completes);
      return offered === '' ? [] : [`${at(i, ...(repeats ? ['more'] : []))}${offered}`];
    }),
  ];
}

function shownValue(completes: Completion): string {
  if (completes === 'file') return ' --require-parameter --force-files';
  if (completes === 'folder') return ` --exclusive --arguments '(__fish_complete_directories)'`;
  return completes === null ? ' --exclusive' : ` --exclusive --arguments '${completes.join(' ')}'`;
}

function operandOf(completes: Completion): string {
  if (completes === 'file') return ' --force-files';
  if (completes === 'folder') return ` --arguments '(__fish_complete_directories)'`;
  return completes === null ? '' : ` --arguments '${completes.join(' ')}'`;
}

function description(about: string): string {
  return about === ''
    ? ''
    : ` --description '${briefly(about).replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
