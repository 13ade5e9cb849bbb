import { chmodSync, chownSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { configOf } from '../testing/agent-config.ts';
import { failingFiles } from '../testing/failing-files.ts';
import { createFleet } from '../testing/fleet.ts';
import { CONFIG_NAME, loadConfig, openConfig, saveConfig } from './config-file.ts';

const fleet = createFleet();
const config = configOf(fleet);

test('what is saved is loaded again, with mode 0600 whatever the umask (R2)', () => {
  using folder = tmpDir();
  expect(saveConfig(folder.path, config)).toEqual({ ok: true });
  expect(loadConfig(folder.path)).toEqual({ ok: true, config });
  expect(statSync(join(folder.path, CONFIG_NAME)).mode & 0o777).toBe(0o600);
});

describe('a file that cannot be trusted is refused', () => {
  test.each([0o640, 0o604, 0o620, 0o602, 0o777])('mode %o', (mode) => {
    using folder = tmpDir();
    saveConfig(folder.path, config);
    chmodSync(join(folder.path, CONFIG_NAME), mode);
    expect(loadConfig(folder.path)).toMatchObject({ ok: false, reason: 'unsafe' });
  });

  test.runIf(process.getuid?.() === 0)('a foreign owner', () => {
    using folder = tmpDir();
    saveConfig(folder.path, config);
    chownSync(join(folder.path, CONFIG_NAME), 65_534, 65_534);
    expect(loadConfig(folder.path)).toMatchObject({ ok: false, reason: 'unsafe' });
  });

  test('a symbolic link', () => {
    using folder = tmpDir();
    using other = tmpDir();
    saveConfig(other.path, config);
    symlinkSync(join(other.path, CONFIG_NAME), join(folder.path, CONFIG_NAME));
    expect(loadConfig(folder.path)).toMatchObject({ ok: false, reason: 'unsafe' });
  });

  test.each<[string, string]>([
    ['an unknown field', JSON.stringify({ ...config, skip_verification: true })],
    ['a missing field', JSON.stringify({ ...config, refresh_token: undefined })],
    ['a wrong type', JSON.stringify({ ...config, strict: 'false' })],
    ['a duplicate key', `{"strict":false,${JSON.stringify(config).slice(1)}`],
    ['half a file', JSON.stringify(config).slice(0, 200)],
    ['nothing', ''],
  ])('%s', (_, text) => {
    using folder = tmpDir();
    writeFileSync(join(folder.path, CONFIG_NAME), text, { mode: 0o600 });
    expect(loadConfig(folder.path)).toMatchObject({ ok: false, reason: 'invalid' });
  });

  test('an error never shows a token', () => {
    using folder = tmpDir();
    const text = JSON.stringify({ ...config, refresh_token: 'SECRET', extra: 'SECRET' });
    writeFileSync(join(folder.path, CONFIG_NAME), text, { mode: 0o600 });
    expect(JSON.stringify(loadConfig(folder.path))).not.toContain('SECRET');
  });
});

describe('a write that is cut short leaves the old file or the new one, never half of one (RT5, RT8, RT9)', () => {
  const next = { ...config, refresh_token: 'refresh-1' };
  const callCount = (() => {
    using folder = tmpDir();
    const { files, calls } = failingFiles(Number.POSITIVE_INFINITY, 'error');
    saveConfig(folder.path, config, files);
    return calls.length;
  })();
  const everyCall = Array.from({ length: callCount }, (_, index) => index + 1);

  test('every system call of a write is tried', () => {
    expect(callCount).toBeGreaterThanOrEqual(9);
  });

  test.each(everyCall.flatMap((at) => [[at, 'kill'] as const, [at, 'error'] as const]))(
    'call %i: %s',
    (at, how) => {
      using folder = tmpDir();
      saveConfig(folder.path, config);
      const saved = saveConfig(folder.path, next, failingFiles(at, how).files);
      const loaded = loadConfig(folder.path);
      expect(saved.ok).toBe(false);
      expect([config, next]).toContainEqual(loaded.ok ? loaded.config : loaded);
    },
  );

  test('a failed change leaves what is held as it was', () => {
    using folder = tmpDir();
    saveConfig(folder.path, config);
    const file = openConfig(folder.path, config, failingFiles(1, 'error').files);
    expect(file.change({ refresh_token: 'refresh-1' }).ok).toBe(false);
    expect(file.current()).toEqual(config);
    expect(readFileSync(join(folder.path, CONFIG_NAME), 'utf8')).toContain('refresh-0');
  });
});
