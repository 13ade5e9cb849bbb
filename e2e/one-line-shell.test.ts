import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentPackage } from '@tidegate/protocol/agent-packages-api';
import { SEED } from '@tidegate/testkit/seed';
import { tmpDir } from '@tidegate/testkit/tmp';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { installLine, type LineFacts, quote, UNITS } from '../apps/console/src/enrolment/line-rules.ts';

const HEX = 'a'.repeat(64);
const FILE: AgentPackage = {
  ...{
    path: 'tidegate-agent_1.2.3_linux-x64.deb',
    target: 'linux-x64',
    format: 'deb',
    bytes: 7,
    sha256: HEX,
  },
};
const FACTS: LineFacts = {
  ...{ origin: 'https://fleet.example.com', token: 'tgr_x', file: FILE, fetcher: 'curl', caSha256: null },
};
const lineOf = (facts: Partial<LineFacts>) => installLine({ ...FACTS, ...facts }) ?? '';

const hostile = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc
      .array(
        fc.constantFrom("'", '"', '`', '$(touch x)', '\\', '\n', '!', '*', ';', '&&', ' ', '#', '~', '-k'),
      )
      .map((parts) => parts.join('')),
  )
  .filter((text) => !text.includes('\0') && text.isWellFormed());

test('quoted text is one word to a shell, whatever it holds', () => {
  fc.assert(
    fc.property(fc.array(hostile, { minLength: 1, maxLength: 20 }), (texts) => {
      const script = `printf '%s\\0' ${texts.map(quote).join(' ')}`;
      for (const shell of ['sh', 'bash']) {
        expect(execFileSync(shell, ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)).toEqual(
          texts,
        );
      }
    }),
    { numRuns: 50, seed: SEED },
  );
});

describe('run by a shell', () => {
  /** Stand-ins that write down what they are called with; `fails` names the ones that end with 1. */
  function run(line: string, fails: readonly string[] = []) {
    const folder = tmpDir();
    onTestFinished(folder.remove);
    const log = join(folder.path, 'log');
    const bin = join(folder.path, 'bin');
    mkdirSync(bin);
    writeFileSync(log, '');
    for (const name of [
      'curl',
      'wget',
      'sha256sum',
      'apt-get',
      'dnf',
      'tar',
      'useradd',
      'tidegate-agent',
      'install',
    ]) {
      const end = fails.includes(name) ? 1 : 0;
      const body = `#!/bin/sh\n[ ${name} = sha256sum ] && cat >/dev/null\nprintf '%s|' ${name} "$@" "\${TIDEGATE_TOKEN-}" >> ${log}\necho >> ${log}\nexit ${end}\n`;
      writeFileSync(join(bin, name), body);
      chmodSync(join(bin, name), 0o755);
    }
    let code = 0;
    try {
      const env = { PATH: `${bin}:/usr/bin:/bin`, TMPDIR: folder.path };
      execFileSync('sh', ['-c', line], { env, stdio: 'pipe' });
    } catch {
      code = 1;
    }
    return { code, calls: readFileSync(log, 'utf8'), folder: folder.path };
  }

  test('the token is an argument of nothing, and hostile values stay values', () => {
    const token = `tgr_'; touch "$d/pwned"; '`;
    const origin = `https://fleet.example.com/$(touch x)' x`;
    const { calls } = run(lineOf({ token, origin }));
    const lines = calls.trim().split('\n');
    expect(lines).toContain(`tidegate-agent|enrol|--server|${origin}|--user|tidegate-agent|${token}|`);
    expect(lines.filter((one) => one.includes('tgr_'))).toHaveLength(1);
  });

  test.each(['curl', 'sha256sum', 'apt-get'])('nothing is run after %s has failed', (name) => {
    const { code, calls } = run(lineOf({}), [name]);
    expect(code).toBe(1);
    expect(calls.trim().split('\n').at(-1)).toMatch(new RegExp(`^${name}\\|`));
  });

  test('the token is not used after preflight has failed', () => {
    const { code, calls } = run(lineOf({}), ['tidegate-agent']);
    expect([code, calls.includes('enrol')]).toEqual([1, false]);
  });

  test.each(['rpm', 'tar.gz'] as const)('%s goes the same way', (format) => {
    const file = { ...FILE, format, path: `tidegate-agent_1.2.3_linux-x64.${format}` };
    const { code, calls } = run(lineOf({ file, fetcher: 'wget' }));
    expect(code).toBe(0);
    expect(calls).toMatch(format === 'rpm' ? /dnf\|install\|-y\|\.\/tidegate-agent/ : /tar\|-xzf/);
    expect(calls).toMatch(/enrol.*\n$/);
  });
});

test('the line for a host without packages enables the units that the packages enable', () => {
  const script = readFileSync(new URL('../packaging/agent/scripts/postinstall.sh', import.meta.url), 'utf8');
  expect(script).toContain(`units="${UNITS}"`);
});
