import { copyFileSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../apps/server/src/testing/engines.ts';
import { must } from '../harness/host.ts';
import { createKeyScene, type KeyScene } from '../harness/key-scene.ts';
import { missingLines, readRunbook, stepOf, withVariables } from '../harness/runbook.ts';

const runbook = (name: string) =>
  readRunbook(fileURLToPath(new URL(`../../docs/runbooks/${name}`, import.meta.url)));
const steps = runbook('lost-key.md');
const rotation = runbook('key-rotation.md');
const [sqlite] = ENGINES;

async function open(): Promise<KeyScene> {
  if (!sqlite) throw new Error('there is no SQLite engine');
  return createKeyScene(sqlite);
}

const keysOf = ({ dataDir }: KeyScene) => join(dataDir, 'keys');

/** Stops the server and deletes its private keys, except those that are kept. */
async function lose(scene: KeyScene, isKept: (name: string) => boolean = () => false): Promise<void> {
  await scene.server.stop();
  for (const name of readdirSync(keysOf(scene))) {
    if (!isKept(name)) rmSync(join(keysOf(scene), name));
  }
}

/** "What you see": the line at the start and the list must match the runbook. */
async function see(scene: KeyScene): Promise<void> {
  const { title, commands, shown } = stepOf(steps, 'What you see');
  const [refusal = '', list = ''] = shown;
  await expect(scene.server.restart()).rejects.toThrow();
  const lines = scene.server.lines().join('\n');
  expect(missingLines(withVariables(refusal, scene.names), lines)).toEqual([]);
  await scene.follow({ title, commands, shown: [list] });
}

describe('docs/runbooks/lost-key.md', () => {
  test('case 1: a backup has a copy', async () => {
    const scene = await open();
    const host = await scene.enrolled('one');
    const [key] = await scene.operator.keys();
    const backup = join(scene.folder, 'backup');
    mkdirSync(join(backup, 'keys'), { recursive: true });
    for (const name of readdirSync(keysOf(scene))) {
      copyFileSync(join(keysOf(scene), name), join(backup, 'keys', name));
    }
    Object.assign(scene.names, { OLD: '1', BACKUP: backup, KEY_ID: key?.key_id });
    await lose(scene);
    await see(scene);
    await scene.follow(stepOf(steps, 'Case 1: a copy is in a backup'));
    await scene.server.restart();
    must(await host.runOnce());
  });

  test('case 2: the server has another key', async () => {
    const scene = await open();
    const host = await scene.enrolled('one');
    Object.assign(scene.names, { OLD: '1', NEW: '2' });
    const { key_id } = await scene.operator.addKey();
    must(await host.runOnce());
    await lose(scene, (name) => name.startsWith(key_id));
    await see(scene);
    const { title, commands, shown } = stepOf(steps, 'Case 2: another key is here');
    await scene.follow({ title, commands: commands.slice(0, 1), shown });
    await scene.server.restart();
    must(await host.runOnce());
    await scene.follow({ title, commands: commands.slice(1), shown: [] });
  });

  test('case 3: every private key is lost, and the root signs a new one', async () => {
    const scene = await open();
    const host = await scene.enrolled('one');
    const made = stepOf(rotation, 'Set up an offline root');
    const [make = '', ...rest] = made.commands;
    const publicKeys = (await scene.shell(make)).stdout.split('\n');
    Object.assign(scene.names, { ANNA: publicKeys[0], BEN: publicKeys[1], CLEO: publicKeys[2] });
    await scene.follow({ ...made, commands: rest });
    await scene.server.restart();
    must(await host.runOnce());
    Object.assign(scene.names, { OLD: '1', NEW: '2' });
    await lose(scene);
    await see(scene);
    await scene.follow(stepOf(steps, 'Case 3: every private half is lost, and there is an offline root'));
    await scene.server.restart();
    must(await host.runOnce());
    must(await host.runOnce()); // reports the key set that the first round fetched
    expect(await scene.operator.keys()).toMatchObject([
      { version: 2, in_use: true, trusted_by: 1 },
      { version: 1, status: 'revoked' },
    ]);
  });

  test('case 4: nothing is left, and every host enrols again under its own id', async () => {
    const scene = await open();
    const host = await scene.enrolled('one');
    Object.assign(scene.names, { OLD: '1', NEW: '2', AGENT_ID: host.agentId() });
    await lose(scene);
    await see(scene);
    const { title, commands, shown } = stepOf(
      steps,
      'Case 4: every private half is lost, and there is no root',
    );
    const [reset = '', revoke = '', enrol = ''] = commands;
    await scene.follow({ title, commands: [reset], shown });
    await scene.server.restart();
    await host.runOnce();
    const before = await scene.operator.keys();
    expect(before).toMatchObject([{ version: 2, trusted_by: 0 }, { version: 1 }]);
    const answered = await scene.follow({ title, commands: [revoke], shown: [] });
    scene.names.REGISTRATION = /"token":"([^"]+)"/.exec(answered)?.[1] ?? '';
    const enrolled = await scene.follow({ title, commands: [enrol], shown: [] });
    expect(enrolled).toContain(host.agentId());
    must(await host.runOnce());
    expect((await scene.operator.keys())[0]).toMatchObject({ version: 2, trusted_by: 1 });
  });
});
