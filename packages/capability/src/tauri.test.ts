import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { type Capability, decide, parseCapabilityFile, resolve } from './capability.ts';
import { CORE_PLUGINS } from './core-permissions.ts';
import { identifierFault, splitIdentifier } from './identifier.ts';
import type { Target } from './parse.ts';

// Upstream's own fixtures: their capability files are read as they are, their permission files by way of the form of
// a manifest. Commands are named there in snake case.

const data = path.join(import.meta.dirname, '../../../../shared/data');
const folder = path.join(data, 'vectors/tauri-acl');
const isAbsent = !existsSync(folder);
if (isAbsent) console.warn('skipped: the fixtures of Tauri are not in ../shared/data/vectors');

describe.skipIf(isAbsent)('R8: the fixtures of Tauri (../shared/data/vectors/tauri-acl)', () => {
  test('basic-ping: one command on one window', () => {
    const acl = aclOf('basic-ping');
    expect(decide(acl, { command: 'ping:ping', ...on('main') })).toEqual({ allowed: true, scope: scope() });
    expect(decide(acl, { command: 'ping:ping', ...on('other') }).allowed).toBe(false);
    expect([...acl.commands.keys()]).toEqual(commandsOf('basic-ping'));
  });

  // The snapshots of that age put the scopes of a set together, so that $DOWNLOAD is of `read_dir` alone in them. The
  // code of the same age and all later snapshots resolve each permission of a set apart: `allow-download-dir` has no
  // commands, and its scope is the plugin's.
  const whole = { allow: ['$APP', '$DOWNLOAD', '$DOWNLOAD/**'], deny: ['$HOME'] };

  test('scope: command scopes, and the scope of the plugin at every command', () => {
    const acl = aclOf('scope');
    const resource = ['$RESOURCE/**', '$RESOURCE'];
    for (const [command, own] of [
      ['read-dir', resource],
      ['read-file', resource],
      ['move', ['$TEMP/*']],
    ] as const) {
      const decision = decide(acl, { command: `fs:${command}`, ...on('main') });
      expect(decision).toEqual({ allowed: true, scope: scope([...own, ...whole.allow], whole.deny) });
    }
    expect([...acl.commands.keys()].toSorted()).toEqual(commandsOf('scope'));
  });

  test('multiwindow: two capabilities, each with its windows and its scopes', () => {
    const acl = aclOf('multiwindow');
    const deny = [...whole.deny, ...whole.deny];
    for (const [command, window, own] of [
      ['read-file', 'main', ['$CONFIG/*', '$RESOURCE/**', '$RESOURCE']],
      ['read-dir', 'main', ['$CONFIG/*', '$RESOURCE/**', '$RESOURCE']],
      ['move', 'main', ['$TEMP/*']],
      ['read-file', 'external', []],
      ['read-dir', 'external', []],
    ] as const) {
      const decision = decide(acl, { command: `fs:${command}`, ...on(window) });
      expect(decision).toEqual({ allowed: true, scope: scope([...own, ...whole.allow], deny) });
    }
    expect(decide(acl, { command: 'fs:move', ...on('external') }).allowed).toBe(false);
    expect([...acl.commands.keys()].toSorted()).toEqual(commandsOf('multiwindow'));
  });

  test.each([
    ['linux', 'servo'],
    ['windows', 'edge'],
    ['macOS', 'safari'],
  ] as const)('a set with a permission for each platform: on %s it spawns %s', (platform, command) => {
    const file = parseCapabilityFile({ identifier: 'c', windows: ['w'], permissions: ['os:open-browser'] });
    if ('errors' in file) throw new Error('errors');
    const decision = decide(resolved(file.capabilities, platform), { command: 'os:spawn', ...on('w') });
    expect(decision).toEqual({ allowed: true, scope: { allow: [{ command }], deny: [] } });
  });

  const cases = isAbsent
    ? { ok: [], err: [], parts: [] }
    : readJson(path.join(folder, 'identifier-cases.json'));

  test.each<string>(cases.ok)('identifier %s', (identifier) =>
    expect(identifierFault(identifier)).toBeNull(),
  );

  // That version refused two hyphens in a row; the one that R8 agrees with takes them.
  test.each<string>(cases.err)('identifier %j is refused', (identifier) => {
    if (identifier.includes('--') && !/^-|-$|:-|-:/.test(identifier) && identifier.split(':').length === 2)
      expect(identifierFault(identifier)).toBeNull();
    else expect(identifierFault(identifier)).not.toBeNull();
  });

  test.each<[string, string | null, string]>(cases.parts)('%s is %s and %s', (identifier, plugin, base) =>
    expect(splitIdentifier(identifier)).toEqual({ plugin, base }),
  );
});

describe.skipIf(isAbsent)('R8: the core plugins (../shared/data/capability/core-permissions.json)', () => {
  const { _about, ...plugins } = isAbsent
    ? {}
    : readJson(path.join(data, 'capability/core-permissions.json'));
  test('there are no others, in the order of core:default', () => {
    expect(typeof _about).toBe('string');
    expect(Object.keys(CORE_PLUGINS).toSorted()).toEqual(Object.keys(plugins).toSorted());
    const order = ['path', 'event', 'window', 'webview', 'app', 'image', 'resources', 'menu', 'tray'];
    expect(Object.keys(CORE_PLUGINS)).toEqual(order);
  });

  test.each(Object.keys(CORE_PLUGINS))('%s has the same commands and defaults', (name) => {
    const { commands, defaults } = CORE_PLUGINS[name] ?? { commands: [], defaults: [] };
    expect(commands.toSorted()).toEqual(plugins[name].commands.toSorted());
    expect(defaults.map((command) => `allow-${command}`).toSorted()).toEqual(
      plugins[name].default.toSorted(),
    );
  });
});

function aclOf(fixture: string) {
  const files = globSync(`capabilities/${fixture}/cap*`, { cwd: folder });
  const capabilities = files.flatMap((file) => {
    const read = parseCapabilityFile(readFileSync(path.join(folder, file), 'utf8'));
    if ('errors' in read) throw new Error(JSON.stringify(read.errors));
    return read.capabilities;
  });
  return resolved(capabilities, 'linux');
}

function resolved(capabilities: readonly Capability[], platform: Target) {
  const names = ['fs', 'os', 'ping'];
  const permissions = Object.fromEntries(names.map((name) => [name, manifestOf(name)]));
  const result = resolve(capabilities, { permissions, platform });
  if ('errors' in result) throw new Error(JSON.stringify(result.errors));
  return result.acl;
}

/** The permission files of a plugin as one manifest, commands with hyphens. */
function manifestOf(plugin: string) {
  const permissions: Record<string, object> = {};
  const sets: Record<string, string[]> = {};
  for (const file of globSync(`plugins/${plugin}/*.toml`, { cwd: folder })) {
    const toml = JSON.parse(JSON.stringify(parseToml(readFileSync(path.join(folder, file), 'utf8'))));
    for (const { identifier, ...permission } of toml.permission ?? []) {
      const allow = (permission.commands?.allow ?? []).map((name: string) => name.replaceAll('_', '-'));
      permissions[identifier] = { ...permission, commands: { allow } };
    }
    for (const set of toml.set ?? []) sets[set.identifier] = set.permissions;
  }
  return { permissions, sets };
}

/** The commands that upstream's snapshot allows, as ours are named. */
function commandsOf(fixture: string): string[] {
  const snapshot = readFileSync(path.join(folder, `snapshots/acl_tests__tests__${fixture}.snap`), 'utf8');
  const names = [...snapshot.matchAll(/"plugin:(\w+)\|(\w+)"/g)];
  return names.map(([, plugin, command]) => `${plugin}:${command?.replaceAll('_', '-')}`).toSorted();
}

function on(window: string) {
  return { window, webview: `view-of-${window}`, origin: 'local' };
}

function scope(allow: readonly string[] = [], deny: readonly string[] = []) {
  return { allow: allow.map((path) => ({ path })), deny: deny.map((path) => ({ path })) };
}

function readJson(file: string) {
  return JSON.parse(readFileSync(file, 'utf8'));
}
