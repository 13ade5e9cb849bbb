import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished, test } from 'vitest';
import { missingLines, readRunbook, runCommands, stepOf, withVariables } from './runbook.ts';

function written(text: string): string {
  const folder = tmpDir('tidegate-runbook-');
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'some.md');
  writeFileSync(file, text);
  return file;
}

const FENCE = '```';

test('a runbook is read as sections with commands and expected output', () => {
  const file = written(
    `# Name\n\nprose\n\n## One\n${FENCE}sh\necho a\n# not a heading\n${FENCE}\nthen\n${FENCE}text\na\n${FENCE}\n## Two\n${FENCE}sh\nb\n${FENCE}\n${FENCE}sh\nc\n${FENCE}\n`,
  );
  const steps = readRunbook(file);
  expect(steps).toEqual([
    { title: 'One', commands: ['echo a\n# not a heading'], shown: ['a'] },
    { title: 'Two', commands: ['b', 'c'], shown: [] },
  ]);
  expect(stepOf(steps, 'Two').commands).toEqual(['b', 'c']);
  expect(() => stepOf(steps, 'Three')).toThrow('One | Two');
});

test.each([
  ['a block that does not end', `# A\n${FENCE}sh\necho`],
  ['a block of another language', `# A\n${FENCE}js\n1\n${FENCE}\n`],
])('%s is refused, so that no part of a runbook goes untested', (_what, text) => {
  expect(() => readRunbook(written(text))).toThrow();
});

test('variables are replaced by name, longer names stay whole, and unknown ones are left to the shell', () => {
  const values = { SERVER: 'http://x', ID: '7' };
  expect(withVariables(['curl $SERVER/$', '{ID} $ID_2 $(id) $HOME'].join(''), values)).toBe(
    'curl http://x/7 $ID_2 $(id) $HOME',
  );
});

test('a block runs in bash, and stops at the first command that fails', async () => {
  const run = await runCommands('echo "$GREETING"; false; echo never', {
    env: { PATH: '/usr/bin:/bin', GREETING: 'hello' },
    cwd: '/',
  });
  expect(run).toEqual({ code: 1, stdout: 'hello', stderr: '' });
});

test('expected output is compared line by line, with … for parts that vary', () => {
  expect(missingLines('key 2 … is in use\n\nother', 'x\nkey 2 (abc) is in use  \ny')).toEqual(['other']);
});
