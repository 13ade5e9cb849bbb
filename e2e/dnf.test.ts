import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { ApprovalPayload } from '@tidegate/protocol/documents';
import { DNF_DEMO, type DnfPackage, trace } from '@tidegate/testkit/dnf-packages';
import { runTool } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { Check, Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { type DnfStoryHost, dnfStoryMissing, enrolledDnfHost } from './harness/dnf-host.ts';
import { must } from './harness/host.ts';
import { type Approved, Blocked, type EventItem, expectAnswer, type Operator } from './harness/operator.ts';
import { createWorld, type World } from './harness/world.ts';

const missing = dnfStoryMissing();
const [engine] = ENGINES;

const OLD = ['demo 1:1.0-1.el9', 'libdemo 0:1.0-1.el9'];
const ADVISORY = 'ALSA-9999:0001';
/** AlmaLinux advisories name binary packages, and their versions include the epoch. */
const AFFECTED = [{ ecosystem: 'AlmaLinux:9', name: 'libdemo', versions: ['0:1.0-2.el9'] }];

const FIXED: DnfPackage[] = [
  {
    ...{ name: 'libdemo', version: '1.0', release: '3.el9', source: 'demo-src', repository: 'appstream' },
    ...{ advisory: 'ALSA-9999:0002', post: trace('libdemo 1.0-3.el9') },
  },
  {
    ...{ name: 'demo', epoch: 1, version: '1.2', release: '1.el9', source: 'demo-src' },
    ...{ requires: ['libdemo >= 1.0-3.el9'], post: trace('demo 1.2-1.el9') },
  },
];

describe.skipIf(missing !== null || engine === undefined)(
  `a dnf host${missing === null ? '' : ` (${missing})`}`,
  () => {
    test('is blocked by an advisory on a dependency (A1), and installs the fixed version offline once it is approved (A4)', async () => {
      const world = await newWorld();
      const { osv, operator } = world;
      osv.addRecord({ id: ADVISORY, summary: 'a flaw in the library' }, AFFECTED);
      const host = await enrolledDnfHost(world, { packages: [DNF_DEMO] });
      const agent = await operator.call('GET', `/api/v1/agents/${host.agentId()}`);
      expect(JSON.stringify(agent.body)).toContain('"almalinux"');

      const flawed = await updateOf(operator, 'demo', '1:1.1-1.el9');
      const blocked = expectAnswer(await operator.approve(flawed), 409, Blocked);
      expect(blocked).toMatchObject({ blocked_by: 'vulnerability', reason: 'known_vulnerability' });
      expect(blocked.introduces).toContainEqual(
        expect.objectContaining({ id: ADVISORY, package: 'libdemo', in_closure: 'dependency' }),
      );
      must(await host.runOnce());
      expect(await host.dnf.installed()).toEqual(OLD);

      await host.dnf.publish(...FIXED);
      must(await host.runOnce());
      const fixed = await updateOf(operator, 'demo', '1:1.2-1.el9');
      const approved = await operator.approved(fixed);
      expectRealHashes(approved, host);
      must(await host.runOnce());
      expect(await outcomeOf(operator, host)).toEqual([['success', null]]);
      // From `rpm -q` on the host itself.
      expect(await host.dnf.installed()).toEqual(['demo 1:1.2-1.el9', 'libdemo 0:1.0-3.el9']);
      expect((await host.trace()).sort()).toEqual(['demo 1.2-1.el9', 'libdemo 1.0-3.el9']);
      expect((await operator.update(fixed)).state).toBe('installed');
      expect(await operator.events({ type: 'update_installed' })).toHaveLength(1);
    });

    test('refuses a downloaded file with one byte changed, of the same size (A4)', async () => {
      const { host, operator } = await approvedStory();
      const rpm = host.dnf.rpmPath('libdemo', '0:1.0-2.el9');
      const bytes = readFileSync(rpm);
      bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1;
      writeFileSync(rpm, bytes);
      await expectRefused(host, operator, { type: 'ARTIFACT_MISMATCH', check: 'artifact_mismatch' });
    });

    test('refuses a package that was rebuilt unsigned, although its hash was approved', async () => {
      const world = await newWorld();
      const { operator } = world;
      const [lib] = DNF_DEMO.offered;
      const host = await enrolledDnfHost(world, {
        packages: [DNF_DEMO],
        publish: async ({ repositories }) => {
          if (lib !== undefined)
            await repositories.add([{ ...lib, content: 'foreign' }], { isSigned: false });
          await repositories.reindex();
        },
      });
      await operator.approved(await updateOf(operator, 'demo', '1:1.1-1.el9'));
      await expectRefused(host, operator, { type: 'ARTIFACT_MISMATCH', check: 'artifact_unsigned' });
      const [[, reason] = []] = await outcomeOf(operator, host);
      expect(reason).toContain('GPG check FAILED');
    });

    // The installer's own tests have both with real dnf; these go through all parts.
    if (process.env.TIDEGATE_LONG === '1') {
      test('refuses a transaction that is no longer the approved one (plan_drift)', async () => {
        const { host, operator } = await approvedStory();
        const database = ['--root', host.dnf.root, '--dbpath', '/var/lib/rpm'];
        await runTool('rpm', [...database, '-e', '--nodeps', '--noscripts', 'libdemo']);
        await expectRefused(host, operator, { type: 'PLAN_DRIFT', check: 'plan_drift' }, [
          'demo 1:1.0-1.el9',
        ]);
      });

      test('does the rest where the host has a part of the approved transaction already', async () => {
        const { host, operator } = await approvedStory();
        const database = ['--root', host.dnf.root, '--dbpath', '/var/lib/rpm'];
        await runTool('rpm', [...database, '-U', '--noscripts', host.dnf.rpmPath('libdemo', '0:1.0-2.el9')]);
        must(await host.runOnce());
        expect(await host.dnf.installed()).toEqual(['demo 1:1.1-1.el9', 'libdemo 0:1.0-2.el9']);
        expect(await operator.events({ type: 'PLAN_DRIFT' })).toEqual([]);
      });
    }
  },
);

function newWorld(): Promise<World> {
  if (engine === undefined) throw new Error('no engine');
  return createWorld(engine);
}

async function approvedStory(): Promise<{ host: DnfStoryHost; operator: Operator }> {
  const world = await newWorld();
  const host = await enrolledDnfHost(world, { packages: [DNF_DEMO] });
  await world.operator.approved(await updateOf(world.operator, 'demo', '1:1.1-1.el9'));
  return { host, operator: world.operator };
}

async function updateOf(operator: Operator, name: string, version: string): Promise<string> {
  const updates = await operator.updates({ name });
  const found = updates.find(
    (update) => update.available_version === version && update.state !== 'superseded',
  );
  if (found === undefined) throw new Error(`no ${version} among ${JSON.stringify(updates)}`);
  return found.id;
}

async function outcomeOf(operator: Operator, host: DnfStoryHost) {
  const commands = await operator.commands({ agent_id: host.agentId() });
  return commands
    .filter(({ action }) => action === 'install_update')
    .map(({ status, reason }) => [status, reason]);
}

/** One full round: nothing is installed, no scriptlet runs, and the server knows why. */
async function expectRefused(
  host: DnfStoryHost,
  operator: Operator,
  expected: { type: string; check: string },
  packages: string[] = OLD,
): Promise<void> {
  must(await host.runOnce());
  expect(await host.dnf.installed()).toEqual(packages);
  expect(await host.trace()).toEqual([]);
  const events = await operator.events({ type: expected.type, agent_id: host.agentId() });
  expect(events.map(checkOf), JSON.stringify(await outcomeOf(operator, host))).toEqual([expected.check]);
}

const Checked = Type.Object({ details: Type.Object({ check: Type.String() }) });

function checkOf({ content }: EventItem): string | null {
  return Check(Checked, content) ? content.details.check : null;
}

/** A4: the token has the hashes of the files in the repositories. */
function expectRealHashes({ token }: Approved, host: DnfStoryHost): void {
  const payload = Value.Parse(
    ApprovalPayload,
    JSON.parse(Buffer.from(token.payload, 'base64').toString('utf8')),
  );
  const bound = payload.actions.map(({ name, artifact }) => [name, artifact?.sha256]);
  const real = [
    ['demo', '1:1.2-1.el9'],
    ['libdemo', '0:1.0-3.el9'],
  ].map(([name = '', evr = '']) => [
    name,
    createHash('sha256')
      .update(readFileSync(host.dnf.rpmPath(name, evr)))
      .digest('hex'),
  ]);
  expect(bound).toEqual(real);
}
