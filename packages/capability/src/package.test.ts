import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = path.join(import.meta.dirname, '../../..');
const folder = mkdtempSync(path.join(tmpdir(), 'tidegate-capability-package-'));
const dist = path.join(folder, 'dist');
const consumer = path.join(folder, 'consumer');
const installed = path.join(consumer, 'node_modules/@tidegate/capability');
let tarball = '';

beforeAll(() => {
  run(process.execPath, [path.join(root, 'scripts/build-capability.ts'), '--outdir', dist], root);
  run(
    'npm',
    ['pack', '--offline', '--silent', '--cache', path.join(folder, 'cache'), '--pack-destination', folder],
    dist,
  );
  tarball = path.join(folder, readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '');
  mkdirSync(installed, { recursive: true });
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed], folder);
  writeFileSync(path.join(consumer, 'package.json'), '{ "type": "module" }');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the published package', () => {
  test('publint reports nothing', async () => {
    const { messages } = await publint({ pkgDir: dist, level: 'suggestion', strict: true, pack: false });
    expect(messages).toEqual([]);
  });

  test('its types are those that an importer finds', async () => {
    const analysis = await checkPackage(createPackageFromTarballData(readFileSync(tarball)));
    if (!analysis.types) throw new Error('no types');
    // Of ES modules alone: every Node that it runs on can require those too.
    expect(analysis.problems.filter(({ kind }) => kind !== 'CJSResolvesToESM')).toEqual([]);
  });

  test('it holds what it runs, its licence and that of what is bundled, and depends on nothing', () => {
    const manifest = JSON.parse(readFileSync(path.join(installed, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ name: '@tidegate/capability', license: 'Apache-2.0', type: 'module' });
    expect(Object.keys(manifest).filter((key) => /ependencies|private/.test(key))).toEqual([]);
    const code = readdirSync(installed).filter((name) => name.endsWith('.js'));
    expect(code).toContain('capability.js');
    for (const name of code) {
      const imports = [
        ...readFileSync(path.join(installed, name), 'utf8').matchAll(/^import .* from "([^"]+)"/gm),
      ];
      for (const [, from] of imports) expect(from).toMatch(name === 'cli.js' ? /^(\.\/|node:)/ : /^\.\//);
    }
    expect(readFileSync(path.join(installed, 'LICENSE'), 'utf8')).toContain('Apache License');
    expect(readFileSync(path.join(installed, 'THIRD-PARTY-LICENSES'), 'utf8')).toMatch(
      /smol-toml \d[\s\S]*Redistribution/,
    );
  });

  test('the example of its README runs as it says', () => {
    const [example = ''] =
      /(?<=```js\n)[\s\S]*?(?=```)/.exec(readFileSync(path.join(installed, 'README.md'), 'utf8')) ?? [];
    writeFileSync(path.join(consumer, 'example.js'), `${example}\nconsole.log(JSON.stringify(decision));\n`);
    expect(run(process.execPath, ['example.js'], consumer)).toBe(
      '{"allowed":true,"scope":{"allow":[{"path":"$DOCUMENT/*"}],"deny":[]}}\n',
    );
  });

  test("its types are complete for a strict importer without Node's types", () => {
    const use = `
      import { type Capability, decide, parseCapabilityFile, resolve } from '@tidegate/capability';
      const file = parseCapabilityFile('');
      const list: readonly Capability[] = 'errors' in file ? [] : file.capabilities;
      const resolved = resolve(list, { platform: 'linux' });
      if ('acl' in resolved) {
        const decision = decide(resolved.acl, { command: 'x', window: 'w', webview: 'w', origin: 'local' });
        const why: string = decision.allowed ? String(decision.scope.allow.length) : decision.reason;
        why.trim();
      }
      // @ts-expect-error there is no such platform
      resolve(list, { platform: 'linus' });
    `;
    writeFileSync(path.join(consumer, 'use.ts'), use);
    const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--target', 'esnext', '--module', 'nodenext', '--lib', 'esnext'];
    expect(
      run(process.execPath, [tsc, ...options, '--types', '', '--skipLibCheck', 'false', 'use.ts'], consumer),
    ).toBe('');
  });

  test('CommonJS can require it', () => {
    const script = "console.log(typeof require('@tidegate/capability').decide)";
    expect(run(process.execPath, ['--input-type=commonjs', '-e', script], consumer)).toBe('function\n');
  });

  test('its command runs', () => {
    writeFileSync(
      path.join(consumer, 'c.toml'),
      'identifier = "c"\nwindows = ["main"]\npermissions = ["allow-x"]\n',
    );
    const bin = path.join(installed, 'cli.js');
    const args = [bin, 'explain', 'c.toml', '--window', 'main', '--command', 'x'];
    expect(run(process.execPath, args, consumer)).toContain('granted by allow-x in capability "c"');
    expect(run(process.execPath, [bin, '--help'], consumer)).toContain('Usage: tidegate-capability');
  });
});

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}
