import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { ownUid } from '../platform/file-layer.ts';
import { createChecksWorld } from '../testing/checks-world.ts';
import { hostRoot } from '../testing/host-root.ts';
import { examineDisk } from './examine-disk.ts';
import { examineFolders } from './examine-folders.ts';
import { examineUnits } from './examine-units.ts';
import { lineOf } from './finding.ts';

const MIB = 1024 * 1024;

test.each([
  [99, 'FAIL'],
  [100, 'warn'],
  [1_024, 'ok  '],
])('%i MiB free are: %s, by the fullest of the file systems', (mib, mark) => {
  const free = (path: string) => (path === '/' ? mib * MIB : 9_999 * MIB);
  const line = lineOf(examineDisk(['/nowhere/agent', import.meta.dirname], free));
  expect(line.slice(0, 4)).toBe(mark);
  expect(line).toContain(`${mib} MiB free for /nowhere/agent`);
});

test('folders and files that others can change or read are named with the command that mends them', () => {
  using folder = tmpDir();
  const place = join(folder.path, 'agent');
  const executorState = join(folder.path, 'executor');
  mkdirSync(place, { mode: 0o700 });
  writeFileSync(join(place, 'config.json'), '{}', { mode: 0o600 });
  const places = { folder: place, configName: 'config.json', executorState, rootUid: ownUid() };
  expect(examineFolders(places)).toMatchObject({ ok: true });
  chmodSync(join(place, 'config.json'), 0o644);
  chmodSync(place, 0o777);
  mkdirSync(executorState);
  chmodSync(executorState, 0o775);
  const { ok, detail } = examineFolders({ ...places, rootUid: 12_345 });
  expect(ok).toBe(false);
  for (const todo of [
    `"chmod 755 ${place}"`,
    `"chmod 600 ${place}/config.json"`,
    `"chmod 755 ${executorState}"`,
  ]) {
    expect(detail).toContain(todo);
  }
  if (ownUid() !== null) expect(detail).toContain(`"chown 12345 ${executorState}"`);
  expect(examineFolders({ ...places, folder: join(folder.path, 'gone') })).toMatchObject({
    ok: false,
    detail: expect.stringContaining('run this as root'),
  });
});

/** systemctl with one state for every unit but those given. */
function states(usual: string, others: Record<string, string> = {}): string {
  const units = [
    'tidegate-agent.service',
    'tidegate-executor.path',
    'tidegate-observer.timer',
    'tidegate-probe.path',
  ];
  return units
    .map((unit) => {
      const [load, active, file] = (others[unit] ?? usual).split(' ');
      return `Id=${unit}\nLoadState=${load}\nActiveState=${active}\nUnitFileState=${file ?? ''}`;
    })
    .join('\n\n');
}

test.each<[string, string, Record<string, string>, RegExp[]]>([
  ['all run', 'loaded active enabled', {}, [/^ok .*every unit/]],
  [
    'the agent has failed',
    'loaded active enabled',
    { 'tidegate-agent.service': 'loaded failed enabled' },
    [/^FAIL units: tidegate-agent.service has failed, so this host does not check in: see "journalctl/],
  ],
  [
    'installations wait',
    'loaded active enabled',
    { 'tidegate-executor.path': 'loaded inactive disabled' },
    [/^FAIL .*nothing is installed: "systemctl enable --now tidegate-executor.path"/],
  ],
  [
    'one is masked, one starts by hand',
    'loaded active enabled',
    { 'tidegate-probe.path': 'masked inactive masked', 'tidegate-agent.service': 'loaded active disabled' },
    [/^warn .*tidegate-agent.service does not start at boot/, /^warn .*tidegate-probe.path is masked/],
  ],
  [
    'none is installed',
    'not-found inactive',
    {},
    [/^warn .*package tidegate-agent/, /^warn/, /^warn/, /^warn/],
  ],
])('units: %s', async (_, usual, others, expected) => {
  using host = hostRoot({ 'run/systemd/system/mark': '' });
  using world = createChecksWorld();
  const systemctl = world.script('systemctl', `cat <<'END'\n${states(usual, others)}\nEND`);
  const lines = (await examineUnits({ root: host.root, systemctl })).map(lineOf);
  expect(lines).toEqual(expected.map((each) => expect.stringMatching(each)));
});

test('a host without systemd, and one that does not answer, are told what to do', async () => {
  using bare = hostRoot({});
  const asked = await examineUnits({ root: bare.root, systemctl: '/nowhere' });
  expect(asked.map(lineOf)).toEqual([expect.stringMatching(/^warn units: .*"tidegate-agent run"/)]);
  using host = hostRoot({ 'run/systemd/system/mark': '' });
  const mute = await examineUnits({ root: host.root, systemctl: '/nowhere' });
  expect(mute.map(lineOf)).toEqual([expect.stringMatching(/^FAIL units: systemd cannot be asked/)]);
});
