import { completeInShell, shellMissing } from '@tidegate/testkit/complete-in-shell';
import { describe, expect, test } from 'vitest';
import { bashCompletion } from './complete-bash.ts';
import { fishCompletion } from './complete-fish.ts';
import { zshCompletion } from './complete-zsh.ts';
import { SAMPLE } from './sample-program.ts';

const SHELLS = [
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
  ['fish', fishCompletion],
] as const;

describe.each(SHELLS)('in a real %s', (shell, make) => {
  const missing = shellMissing(shell);
  if (missing !== null) console.log(`skipped: completion in ${shell}: ${missing}`);

  test.skipIf(missing !== null).each<[string, string[]]>([
    ['', ['mark', 'rows']],
    ['ro', ['rows']],
    ['rows ', ['add', 'root', 'show']],
    ['rows root ', ['make']],
    ['rows add NAME ', ['green', 'red']],
    ['rows add NAME g', ['green']],
    ['rows add NAME red ', []],
    ['rows show ', []],
    ['rows show ID ', []],
    ['rows add --kind ', ['large', 'small']],
    ['rows add --from x --kind s', ['small']],
    ['rows add --from ', ['one.json', 'two']],
    ['rows add -f ', ['one.json', 'two']],
    ['rows add --from one.json NAME ', ['green', 'red']],
    ['rows root make ', ['one.json', 'two']],
    ['rows root make one.json ', ['one.json', 'two']],
    ['rows show --into ', ['two']],
    // The same option may mean something else in another call.
    ['rows show --kind ', ['new', 'old']],
    ['mark --note ', []],
    // An operand is no command, and neither is what follows it.
    ['other rows ', []],
    // A value that is spelled like a command is a value.
    ['mark --note rows ', []],
  ])('%j offers %j', (line, expected) => {
    const offered = completeInShell(shell, {
      script: make(SAMPLE),
      words: ['sample-tool', ...line.split(' ')],
    });
    expect(offered).toEqual(expected);
  });

  test.skipIf(missing !== null).each<[string, string[]]>([
    ['--', ['--help']],
    ['rows show --', ['--help', '--into', '--kind']],
    ['rows add --', ['--from', '--help', '--kind']],
    ['mark --n', ['--note']],
    ['other rows --', ['--help']],
  ])('%j offers the options %j', (line, expected) => {
    const offered = completeInShell(shell, {
      script: make(SAMPLE),
      words: ['sample-tool', ...line.split(' ')],
    });
    expect(offered.filter((word) => word.startsWith('--'))).toEqual(expected);
  });
});

test('a value after "=" is completed as readline splits it, and one with ":" is one word', () => {
  const script = bashCompletion(SAMPLE);
  const words = ['sample-tool', 'rows', 'add', '--kind', '=', 'l'];
  expect(completeInShell('bash', { script, words })).toEqual(['large']);
  const split = ['sample-tool', 'rows', 'add', 'a', ':', 'b', ''];
  expect(completeInShell('bash', { script, words: split })).toEqual(['green', 'red']);
});
