import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApprovalPayload } from '@tidegate/protocol/documents';
import { NEW_GLOBALS, NEW_MODULES, OLD_GLOBALS, OLD_MODULES } from '@tidegate/testkit/npm-packages';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { hostPaths } from '../apps/agent/src/ecosystems/host-places.ts';
import { npmDriver } from '../apps/agent/src/ecosystems/npm/npm.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { must } from './harness/host.ts';
import { createNpmWorld, type NpmWorld, npmStoryMissing } from './harness/npm-world.ts';
import { type Approved, Blocked, expectAnswer, type Operator, untilClear } from './harness/operator.ts';

/** Answers about vulnerabilities that are older than 7 s are asked for again. */
const SHORT_MEMORY = { SERVICE_ADVISORY_MAX_AGE_HOURS: '0.002' };

const missing = npmStoryMissing();
const registry = await reachableRegistry();
if (registry === null) console.log('skipped: a plan of a real package, as no npm registry is reachable');
const [engine] = ENGINES;
if (engine === undefined) throw new Error('there is no engine');

describe.skipIf(missing !== null)(`npm packages${missing === null ? '' : ` (${missing})`}`, () => {
  test('a global package and a project are blocked by a dependency (A1) until the advisory is withdrawn, then updated offline', async () => {
    const world = await createNpmWorld(engine, {
      env: SHORT_MEMORY,
      prepare: (known) =>
        known.addRecord({ id: 'GHSA-demo', summary: 'a flaw in the library' }, [
          { ecosystem: 'npm', name: 'demo-lib', versions: ['1.1.0'] },
        ]),
    });
    const { osv, operator, agent, npm, mark } = world;
    const updates = [
      await updateOf(operator, { name: 'demo-cli', arch: npm.prefix }),
      await updateOf(operator, { name: '@demo/app-kit', arch: npm.project }),
    ];
    for (const id of updates) {
      const blocked = expectAnswer(await operator.approve(id), 409, Blocked);
      expect(blocked).toMatchObject({ blocked_by: 'vulnerability' });
      expect(blocked.introduces).toContainEqual(
        expect.objectContaining({ id: 'GHSA-demo', package: 'demo-lib', in_closure: 'dependency' }),
      );
    }
    must(await agent.runOnce());
    expect([await npm.globals(), await npm.modules()]).toEqual([OLD_GLOBALS, OLD_MODULES]);

    osv.withdraw('GHSA-demo');
    for (const id of updates) {
      await untilClear(operator, id);
      expectRealHashes(await operator.approved(id), world);
    }
    must(await agent.runOnce());
    expect(await outcomes(world)).toEqual(['success', 'success']);
    expect(await npm.globals()).toEqual(NEW_GLOBALS);
    expect(await npm.modules()).toEqual(NEW_MODULES);
    // From npm on the host itself.
    const list: unknown = JSON.parse(await npm.npm(['ls', '-g', '--json', `--prefix=${npm.prefix}`]));
    expect(list).toMatchObject({ dependencies: { 'demo-cli': { version: '1.1.0' } } });
    const lock = await readFile(join(npm.project, 'package-lock.json'), 'utf8');
    expect(lock).toContain(`${npm.registry.url}/@demo/app-kit/-/app-kit-1.1.0.tgz`);
    for (const id of updates) expect((await operator.update(id)).state).toBe('installed');
    expect(existsSync(mark)).toBe(false); // no lifecycle script was run
  });

  test('a tarball with one byte changed at equal size is refused, with an event and nothing changed (A4)', async () => {
    const world = await createNpmWorld(engine);
    const { operator, npm } = world;
    await operator.approved(await updateOf(operator, { name: 'demo-cli', arch: npm.prefix }));
    await operator.approved(await updateOf(operator, { name: '@demo/app-kit', arch: npm.project }));
    npm.registry.mode = 'tamper';
    must(await world.agent.runOnce());
    expect(await outcomes(world)).toEqual(['failed', 'failed']);
    expect(await operator.events({ type: 'ARTIFACT_MISMATCH' })).toHaveLength(2);
    expect([await npm.globals(), await npm.modules()]).toEqual([OLD_GLOBALS, OLD_MODULES]);
  });

  // The installer's own tests have both with real npm; these go through all parts.
  if (process.env.TIDEGATE_LONG === '1') {
    test('a project that has changed since the plan is refused as drift', async () => {
      const world = await createNpmWorld(engine);
      const { operator, npm } = world;
      await operator.approved(await updateOf(operator, { name: '@demo/app-kit', arch: npm.project }));
      const file = join(npm.project, 'node_modules/mid/package.json');
      const manifest = JSON.parse(await readFile(file, 'utf8'));
      await writeFile(file, JSON.stringify({ ...manifest, version: '1.0.5' }));
      const moved = await npm.modules();
      expect(moved).not.toEqual(OLD_MODULES);
      must(await world.agent.runOnce());
      expect(await outcomes(world)).toEqual(['refused']);
      expect(await operator.events({ type: 'PLAN_DRIFT' })).toHaveLength(1);
      expect(await npm.modules()).toEqual(moved);
    });

    test('a project that has a part of the approved change already gets the rest', async () => {
      const world = await createNpmWorld(engine);
      const { operator, npm } = world;
      await operator.approved(await updateOf(operator, { name: '@demo/app-kit', arch: npm.project }));
      await npm.npm(['update', 'demo-lib'], npm.project);
      expect(await npm.modules()).not.toEqual(OLD_MODULES);
      must(await world.agent.runOnce());
      expect(await outcomes(world)).toEqual(['success']);
      expect(await operator.events({ type: 'PLAN_DRIFT' })).toEqual([]);
      expect(await npm.modules()).toEqual(NEW_MODULES);
    });
  }
});

if (registry !== null) {
  test('a real package of the configured registry is planned and fetched by its real hashes', async () => {
    using dir = tmpDir('tidegate-npm-public-');
    await chmod(dir.path, 0o755);
    const prefix = join(dir.path, 'prefix');
    const stage = join(dir.path, 'stage');
    for (const folder of [prefix, stage]) await mkdir(folder);
    const { url, version } = registry;
    const paths = hostPaths({ npm_prefix: prefix, npm_registry: url });
    const planned = await npmDriver.plan(paths, {
      updates: [{ name: 'semver', arch: prefix, toVersion: version }],
    });
    if (!planned.ok) throw new Error(planned.reason);
    const { actions } = planned.plan;
    expect(actions.find(({ name }) => name === 'semver')).toMatchObject({
      action: 'install',
      to_version: version,
    });
    expect(await npmDriver.fetch(paths, { actions, directory: stage })).toEqual({ ok: true });
    expect(await readdir(stage)).toContain(`semver-${version}.tgz`);
  });
}

/** The configured registry, and its newest version of semver; null if it is not reachable. */
async function reachableRegistry(): Promise<{ url: string; version: string } | null> {
  const ask = (...args: string[]) => {
    const asked = spawnSync('npm', [...args, '--fetch-retries=0', '--fetch-timeout=10000'], {
      encoding: 'utf8',
      cwd: '/',
    });
    return asked.status === 0 ? asked.stdout.trim() : null;
  };
  const url = missing === null ? ask('config', 'get', 'registry') : null;
  if (url === null || !URL.canParse(url)) return null;
  const said = ask('view', 'semver', 'version', '--json');
  const version: unknown = said === null ? null : JSON.parse(said);
  return typeof version === 'string' ? { url, version } : null;
}

async function updateOf(operator: Operator, wanted: { name: string; arch: string }): Promise<string> {
  for (const { id } of await operator.updates({ name: wanted.name })) {
    const { plan, ...update } = await operator.update(id);
    if (JSON.stringify([update, plan]).includes(JSON.stringify(wanted.arch))) return id;
  }
  throw new Error(`there is no update of ${wanted.name} at ${wanted.arch}`);
}

async function outcomes({ operator, agent }: NpmWorld): Promise<string[]> {
  const commands = await operator.commands({ agent_id: agent.agentId() });
  const installs = commands.filter(({ action }) => action === 'install_update');
  return installs.map(({ status }) => status);
}

/** A4: the token has the hashes of the published files. */
function expectRealHashes({ token }: Approved, { npm }: NpmWorld): void {
  const payload = Value.Parse(
    ApprovalPayload,
    JSON.parse(Buffer.from(token.payload, 'base64').toString('utf8')),
  );
  for (const { name, to_version: version = '', artifact } of payload.actions) {
    const real = createHash('sha512').update(npm.registry.tarball(name, version)).digest('hex');
    expect(artifact?.sha512).toBe(real);
  }
}
