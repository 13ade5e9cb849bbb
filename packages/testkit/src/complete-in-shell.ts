import { execFileSync, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from './tmp.ts';

export type Shell = 'bash' | 'zsh' | 'fish';

/** What a run lacks for a shell; null when the shell is installed. */
export function shellMissing(shell: Shell): string | null {
  return spawnSync(shell, ['--version']).status === 0 ? null : `install ${shell}`;
}

/**
 * What a shell offers for the last of the words, which may be empty, after it has read the script. Files are those of an empty
 * folder with `one.json` and the folder `two`.
 */
export function completeInShell(
  shell: Shell,
  { script, words }: { script: string; words: readonly string[] },
): string[] {
  const folder = tmpDir();
  try {
    const path = join(folder.path, 'script');
    writeFileSync(path, script);
    const place = join(folder.path, 'place');
    execFileSync('mkdir', ['-p', join(place, 'two')]);
    writeFileSync(join(place, 'one.json'), '');
    const [program, ...args] = COMMANDS[shell](path, words);
    const env = { PATH: process.env.PATH ?? '', HOME: folder.path, LC_ALL: 'C.UTF-8' };
    const ran = spawnSync(program, args, { cwd: place, env, encoding: 'utf8', timeout: 30_000 });
    if (ran.status !== 0 || ran.stderr !== '') throw new Error(`${shell}: ${ran.status} ${ran.stderr}`);
    const offered = ran.stdout
      .split('\n')
      .map((line) => line.split('\t')[0]?.trim().replace(/\/$/, '') ?? '');
    return offered.filter((word) => word !== '').sort();
  } finally {
    folder.remove();
  }
}

const COMMANDS: Readonly<Record<Shell, (script: string, words: readonly string[]) => [string, ...string[]]>> =
  {
    // compopt works only below readline.
    bash: (script, words) => {
      const name = `_${words[0]?.replaceAll('-', '_')}`;
      const body = `compopt() { :; }; source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ${name}; printf '%s\n' "\${COMPREPLY[@]}"`;
      return ['bash', '--norc', '-c', body, 'bash', script, ...words];
    },
    // The builtins of the completion system print what they are given.
    zsh: (script, words) => {
      const name = `_${words[0]?.replaceAll('-', '_')}`;
      const stubs = `compdef() { :; }; _message() { :; }; _files() { [[ $1 == -/ ]] && print -l *(N/) || print -l *(N); }
      compadd() { shift; print -l -- "$@"; }; _describe() { print -l -- \${(@P)2%%:*}; }
      compset() { PREFIX=\${PREFIX#*=}; }`;
      const body = `${stubs}; source "$1"; shift; words=("$@"); CURRENT=$#; PREFIX=\${words[-1]}; ${name} | grep -e "^\${PREFIX}" || true`;
      return ['zsh', '-f', '-c', body, 'zsh', script, ...words];
    },
    fish: (script, words) => {
      const body = 'source $argv[1]; complete --do-complete (string join " " -- $argv[2..])';
      return ['fish', '--no-config', '-c', body, script, ...words];
    },
  };
