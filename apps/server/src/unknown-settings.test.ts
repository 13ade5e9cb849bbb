import { spawnSync } from 'node:child_process';
import { compiledModules } from '@tidegate/testkit/compile-cache';
import { describe, expect, test } from 'vitest';
import { SETTINGS } from './config.ts';
import { createLog } from './platform/log.ts';
import { unknownSettings, warnOfUnknown } from './unknown-settings.ts';

describe('names of the environment that no setting reads', () => {
  test('settings, their files, names of other programs and empty values are not reported', () => {
    const names = Object.values(SETTINGS).flatMap(({ env }) => [env, `${env}_FILE`]);
    const env = Object.fromEntries(
      ['PATH', 'SERVICE', 'MY_SERVICE_PORT', ...names].map((name) => [name, 'x']),
    );
    expect(unknownSettings({ ...env, SERVICE_PROT: '', SERVICE_HOTS: undefined })).toEqual([]);
  });

  test.each([
    ['SERVICE_PROT', 'SERVICE_PORT'],
    ['SERVICE_SUPPLY_CHAIN_GATE_ENFORCMENT', 'SERVICE_SUPPLY_CHAIN_GATE_ENFORCEMENT'],
    ['SERVICE_SIGNING_PRIVATE_KEYS', 'SERVICE_SIGNING_PRIVATE_KEY'],
    ['SERVICE_JWT_SECRT_FILE', 'SERVICE_JWT_SECRET'],
    ['SERVICE_port', 'SERVICE_PORT'],
    ['SERVICE_SEED', null],
    ['SERVICE_SOMETHING_ELSE_ALTOGETHER', null],
    [`SERVICE_PORT${'X'.repeat(100_000)}`, null],
  ])('%s is unknown, and the nearest known one is %s', (name, nearest) => {
    expect(unknownSettings({ [name]: 'x' })).toEqual([{ name, nearest }]);
  });

  test('each gets one line, without its value', () => {
    const lines: string[] = [];
    const log = createLog({
      level: 'info',
      format: 'text',
      now: () => 0,
      write: (line) => lines.push(line),
    });
    const env = {
      SERVICE_PROT: 'secret',
      SERVICE_ALTOGETHER_ELSE: 'secret',
    };
    warnOfUnknown(log, unknownSettings(env));
    const at = 'time=1970-01-01T00:00:00.000Z';
    expect(lines).toEqual([
      `[WARN] unknown setting ignored name=SERVICE_ALTOGETHER_ELSE ${at}`,
      `[WARN] unknown setting ignored name=SERVICE_PROT nearest=SERVICE_PORT ${at}`,
    ]);
  });

  test('the program warns at its start', () => {
    const main = new URL('main.ts', import.meta.url).pathname;
    // A refused start is enough.
    const env = { ...compiledModules(), SERVICE_PROT: '1', SERVICE_DATA_DIR: '/dev/null' };
    const { status, stdout } = spawnSync(process.execPath, [main], { env, encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^\[WARN\] unknown setting ignored name=SERVICE_PROT nearest=SERVICE_PORT time=\S+\n$/,
    );
  });
});
