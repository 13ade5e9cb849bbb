import { expect, test } from 'vitest';
import { parseCommandLine } from './command-line.ts';

test.each([
  [['run', '--once', '--config', '/c'], 'run', { once: true, config: '/c' }],
  [['--json', 'status'], 'status', { json: true }],
  [['enrol', '--server', 's', '--token', '-'], 'enrol', { server: 's', token: '-' }],
  [['execute', '--job', 'j', '--state', 's'], 'execute', { job: 'j', state: 's' }],
])('%j is %s', (args, command, values) => {
  expect(parseCommandLine(args)).toMatchObject({ ok: true, command, values });
});

test.each([
  [[], /no command/],
  [['frobnicate'], /"frobnicate" is not a command/],
  [['run', '--job', 'x'], /run has no option --job/],
  [['status', '--once'], /status has no option --once/],
  [['run', '--nonsense'], /nonsense/],
  [['run', 'now'], /"now" is not expected/],
  [['run', '--config'], /config/],
])('%j is refused with a reason', (args, detail) => {
  expect(parseCommandLine(args)).toMatchObject({
    ok: false,
    help: false,
    detail: expect.stringMatching(detail),
  });
});

test.each([[['--help']], [['-h']], [['run', '--help']]])('%j asks for help', (args) => {
  expect(parseCommandLine(args)).toEqual({ ok: false, help: true });
});
