import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { parseCommandLine } from './command-line.ts';
import { PROBE_REQUEST_NAME } from './probes/probe-watch.ts';

const FOLDER = join(import.meta.dirname, '../../../packaging/agent/systemd');
const PROGRAM = '/usr/bin/tidegate-agent ';
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

const STARTS = globSync('*.service', { cwd: FOLDER })
  .sort()
  .flatMap((name) =>
    [...textOf(name).matchAll(/^ExecStart=(.*)$/gm)]
      .map(([, line = '']): [string, string] => [name, line])
      .filter(([, line]) => line.startsWith(PROGRAM)),
  );

test.each(STARTS)('%s starts a command that there is: %s', (_, line) => {
  expect(parseCommandLine(line.slice(PROGRAM.length).split(' '))).toMatchObject({ ok: true });
});

test('every role that systemd starts has a unit', () => {
  expect(STARTS.map(([name]) => name)).toEqual([
    ...['agent', 'executor', 'hooks@', 'observer', 'probe'].map((role) => `tidegate-${role}.service`),
  ]);
});

test('a path unit starts a service of the same folder', () => {
  for (const path of globSync('*.path', { cwd: FOLDER })) {
    const unit = /^Unit=(.*)$/m.exec(textOf(path))?.[1];
    expect(globSync('*.service', { cwd: FOLDER })).toContain(unit);
    expect(unit).toBe(basename(path, '.path').concat('.service'));
  }
});

test('the probes are watched for where the agent asks for them', () => {
  const agent = /--config (\S+)/.exec(textOf('tidegate-agent.service'))?.[1] ?? '';
  expect(textOf('tidegate-probe.path')).toContain(`PathChanged=${join(agent, PROBE_REQUEST_NAME)}\n`);
});
