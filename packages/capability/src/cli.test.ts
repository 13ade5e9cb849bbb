import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { capabilitySchema } from './capability.ts';

const cli = path.join(import.meta.dirname, 'cli.ts');
const FILES = {
  'good.json': `{
  "$schema": "capability.schema.json",
  "identifier": "main",
  "windows": ["main"],
  "remote": { "urls": ["https://*.example.com"] },
  "permissions": ["core:app:default", { "identifier": "fs:all", "allow": [{ "path": "$HOME" }] }]
}`,
  'deny.toml': 'identifier = "deny"\npermissions = ["core:app:deny-name"]\n',
  'fs.json':
    '{ "fs": { "permissions": { "allow-read": { "commands": { "allow": ["read"] } } }, "sets": { "all": ["allow-read"] } } }',
  'more.toml':
    '[fs.permissions.allow-write]\ncommands.allow = ["write"]\n[fs.sets]\nall = ["allow-read", "allow-write"]\n',
  'bad-manifest.json':
    '{\n  "fs": { "permissions": { "allow-read": { "commands": { "alow": ["read"] } } },\n    "sets": { "a": ["a"] } }\n}',
  'bad.json':
    '{\n  "identifier": "b",\n  "permissions": [\n    "core:default",\n    "core:app:allow-versoin"\n  ],\n  "foo": 1, "local": null\n}\n',
  'broken.json': '{\n  "identifier": "b",\n  "permissions": [ü]\n}',
  'bad.toml':
    '# ü\n[[capabilities]]\nidentifier = "t"\npermissions = []\n\n[[capabilities]]\nidentifier = "u"\npermissions = [\n  "core:default",\n  { identifier = "core:x:y", allow = [\n    1,\n  ] }, # two\n]\nplatforms = ["linux", "mac"]\n[capabilities.remote]\nurls = ["""https://x.y""", \'x.y\']\n',
  'twice.json': '[{ "identifier": "t", "permissions": [] }, { "identifier": "t", "permissions": [] }]',
  'broken.toml': 'identifier = "t"\npermissions = [\n',
} as const;

const folder = mkdtempSync(path.join(tmpdir(), 'tidegate-capability-'));
beforeAll(() => {
  for (const [name, text] of Object.entries(FILES)) writeFileSync(path.join(folder, name), text);
  writeFileSync(path.join(folder, 'latin1.json'), Buffer.from([0x22, 0xfc, 0x22]));
});
afterAll(() => rmSync(folder, { recursive: true }));

const FS = ['--permissions', 'fs.json'];

describe('tidegate-capability check', () => {
  test('files without errors: nothing on stdout, 0; `$schema` is no warning', () => {
    expect(run('check', 'good.json', 'deny.toml', ...FS)).toEqual({
      ...{ status: 0, stdout: '' },
      stderr: '2 files, 2 capabilities, 0 errors, 0 warnings\n',
    });
  });

  test('every error of every file at once, with file, line and column, in their order', () => {
    const { status, stdout } = run('check', 'bad.json', 'broken.json', 'bad.toml', 'broken.toml');
    expect(status).toBe(1);
    const lines = stdout.split('\n').map((line) => line.split(': ').slice(0, 2).join(' '));
    expect(lines).toEqual([
      ...['bad.json:5:5 error', 'bad.json:7:10 warning', 'bad.json:7:22 error', 'broken.json:3:19 error'],
      ...['bad.toml:10:3 error', 'bad.toml:14:23 error', 'bad.toml:16:28 error', 'broken.toml:3:1 error', ''],
    ]);
    expect(stdout).toContain('did you mean "core:app:allow-version"?');
  });

  test('the same as one JSON object', () => {
    const { status, stdout } = run('check', 'bad.json', '--json');
    expect(status).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      findings: [
        { file: 'bad.json', line: 5, column: 5, severity: 'error', path: '/permissions/1' },
        { line: 7, column: 10, severity: 'warning', path: '/foo' },
        { line: 7, column: 22, severity: 'error', path: '/local' },
      ],
    });
  });

  test('errors of manifests have places too', () => {
    const { status, stdout } = run('check', 'deny.toml', '--permissions', 'bad-manifest.json');
    expect(status).toBe(1);
    expect(stdout).toContain('bad-manifest.json:2:66: error: "alow" is no key');
    expect(stdout).toContain('bad-manifest.json:3:20: error: a set contains itself: fs:a → fs:a');
  });

  test('the same identifier twice in one file is one error', () => {
    const { stdout } = run('check', 'twice.json');
    expect(stdout).toBe('twice.json:1:60: error: capability "t" already exists\n');
  });

  test('the same identifier in two files', () => {
    const { status, stdout } = run('check', 'deny.toml', 'good.json', 'deny.toml', ...FS);
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: 'deny.toml:1:14: error: capability "deny" already exists\n',
    });
  });

  test.each([
    ['none.json', 'cannot be read'],
    ['.', 'unknown format'],
    ['good.json5', 'unknown format'],
    ['latin1.json', 'is not valid UTF-8'],
  ])('%s %s', (file, message) => {
    const { status, stdout } = run('check', file);
    expect(status).toBe(1);
    expect(stdout).toContain(`${file}:1:1: error: ${message}`);
  });

  test('a capability is checked even for a platform it does not target', () => {
    expect(run('check', 'bad.toml', '--platform', 'iOS').stdout).toContain('core:x:y');
  });
});

describe('tidegate-capability explain', () => {
  const asked = ['good.json', ...FS, '--window', 'main'];

  test('what granted a call, and its scope; 0', () => {
    expect(run('explain', ...asked, '--command', 'fs:read')).toMatchObject({
      status: 0,
      stdout:
        'allowed: "fs:read" on window "main", webview "main", origin local\n' +
        '  granted by fs:allow-read in capability "main"\n  scope allows [{"path":"$HOME"}]\n',
    });
  });

  test('what denied it, from whichever capability; 1', () => {
    const { status, stdout } = run('explain', 'deny.toml', ...asked, '--command', 'core:app:name');
    expect(status).toBe(1);
    expect(stdout).toContain('refused');
    expect(stdout).toContain(
      'denied by core:app:deny-name in capability "deny": this counts for every window',
    );
    expect(stdout).toContain('granted by core:app:allow-name in capability "main"');
  });

  test('what was missed, and what nobody grants', () => {
    const other = ['good.json', ...FS, '--window', 'other', '--origin', 'http://x.example.com'];
    expect(run('explain', ...other, '--command', 'core:app:name').stdout).toContain(
      'it does not serve this origin, and neither the window nor the webview matches',
    );
    expect(run('explain', ...asked, '--command', 'core:window:close').stdout).toContain(
      'core:window:allow-close would',
    );
    expect(run('explain', ...asked, '--command', 'fs:reed').stdout).toContain(
      'no plugin that is known has a command',
    );
    const nowhere = run('explain', ...asked, '--command', 'core:app:name', '--origin', 'x').stdout;
    expect(nowhere).toContain(
      'not granted by core:app:allow-name in capability "main": it does not serve this origin',
    );
  });

  test('the same as one JSON object', () => {
    const args = [
      '--command',
      'core:app:name',
      '--webview',
      'v',
      '--origin',
      'https://a.example.com/p',
      '--json',
    ];
    const { status, stdout } = run('explain', ...asked, ...args);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ...{ command: 'core:app:name', window: 'main', webview: 'v', origin: 'https://a.example.com/p' },
      ...{ decision: { allowed: true, scope: { allow: [], deny: [] } }, deniedBy: [], missed: [] },
      grantedBy: [{ capability: 'main', permission: 'core:app:allow-name' }],
      permissions: ['core:app:allow-name'],
    });
  });

  test('files with errors decide nothing', () => {
    const { status, stdout } = run('explain', 'bad.json', '--window', 'main', '--command', 'core:app:name');
    expect(status).toBe(1);
    expect(stdout).toContain('bad.json:5:5: error');
    expect(stdout).not.toContain('allowed:');
  });
});

test('list names what a window may do; the last manifest of several wins', () => {
  const args = ['good.json', 'deny.toml', ...FS, '--permissions', 'more.toml', '--window', 'main'];
  const { status, stdout } = run('list', ...args);
  expect(status).toBe(0);
  const commands = stdout.trim().split('\n');
  expect(commands).toContain('core:app:version');
  expect(commands).toContain('fs:write');
  expect(commands).not.toContain('core:app:name');
  expect(JSON.parse(run('list', ...args, '--json').stdout)).toMatchObject({
    window: 'main',
    webview: 'main',
    commands,
  });
  expect(run('list', ...args.slice(0, -1), 'other').stdout).toBe('');
});

test('schema is the schema of the library', () => {
  const { status, stdout } = run('schema');
  expect({ status, schema: JSON.parse(stdout) }).toEqual({ status: 0, schema: capabilitySchema() });
});

describe('usage', () => {
  test('--help is the text and 0', () => {
    expect(run('--help')).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('Usage:') });
    expect(run('check', '--help').status).toBe(0);
  });

  test.each([
    [[], 'a command is missing'],
    [['frobnicate'], '"frobnicate" is no command'],
    [['check'], 'check needs a FILE'],
    [['check', '--frob', 'x.json'], 'an option is not known'],
    [['check', 'good.json', '--platform', 'linus'], '"linus" is no platform; allowed are linux'],
    [['explain', 'good.json', '--command', 'x'], 'explain needs --window'],
    [['explain', 'good.json', '--window', 'x'], 'explain needs --command'],
    [['list', 'good.json'], 'list needs --window'],
    [['schema', 'good.json'], 'schema has no FILE'],
  ])('%j is 2 and says why on stderr', (args, why) => {
    const { status, stdout, stderr } = run(...args);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toContain(why);
  });
});

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}
