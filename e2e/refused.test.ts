import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Envelope } from '@tidegate/protocol/documents';
import { PlanAction } from '@tidegate/protocol/plan';
import { generatePrivateKeyHex, loadSigningKey } from '@tidegate/signing/sign';
import { runTool } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { Check, Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { altered, commandsBecome, fieldsOf, forged } from './harness/forge.ts';
import { type Host, must } from './harness/host.ts';
import type { EventItem, Operator } from './harness/operator.ts';
import { NEW, OLD, STORY, TRACE } from './harness/story-packages.ts';
import { createWorld, storyMissing, type World } from './harness/world.ts';

const missing = storyMissing();
const [engine] = ENGINES;
const FORGED_ID = '01900000-0000-7000-8000-00000000f0f0';
const PAST = {
  issued_at: '2020-01-01T00:00:00Z',
  not_before: '2020-01-01T00:00:00Z',
  expires_at: '2020-01-02T00:00:00Z',
};

describe.skipIf(missing !== null || engine === undefined)(
  `an agent refuses${missing === null ? '' : ` (${missing})`}`,
  () => {
    test('a downloaded file with one byte flipped, of the same size', async () => {
      const { host, operator } = await approvedStory();
      flipByte(host.apt.debPath('demo', '1.1-1'));
      await expectRefused(host, operator, { type: 'ARTIFACT_MISMATCH' });
    });

    test('a changed file in a reindexed archive, which apt itself accepts', async () => {
      const { host, operator } = await approvedStory();
      flipByte(host.apt.debPath('demo', '1.1-1'));
      await reindex(host);
      await expectRefused(host, operator, { type: 'ARTIFACT_MISMATCH' });
    });

    test('an extra package in the transaction', async () => {
      const { host, operator } = await approvedStory();
      await host.apt.publish({ name: 'stowaway', version: '1.0-1' });
      dependOnStowaway(host);
      await expectRefused(host, operator, { type: 'PLAN_DRIFT' });
    });

    test('a command for another agent, although the server signed it', async () => {
      const { host, operator, proxy, enrolled } = await approvedStory();
      const other = await enrolled({ packages: [STORY] });
      await approve(operator, other);
      const stolen: Envelope[] = [];
      proxy.tamper = commandsBecome((commands) => {
        stolen.push(...commands);
        return [];
      });
      must(await other.runOnce());
      expect(stolen.length).toBeGreaterThan(0);
      proxy.tamper = commandsBecome(() => stolen);
      await expectRefused(host, operator, { type: 'COMMAND_REFUSED', check: 'wrong_agent' });
      await expectHonestWorldInstalls({ host, proxy });
    });

    test('a replayed command', async () => {
      const { host, operator, proxy } = await approvedStory();
      const seen: Envelope[] = [];
      proxy.tamper = commandsBecome((commands) => {
        seen.push(...commands);
        return commands;
      });
      must(await host.runOnce());
      expect(await host.installed()).toEqual(NEW);
      await host.apt.rollBack();
      const runs = await host.trace(TRACE);

      proxy.tamper = commandsBecome((commands) => [...commands, ...seen.slice(0, 1)]);
      must(await host.runOnce());
      expect(await host.installed()).toEqual(OLD);
      expect(await host.trace(TRACE)).toEqual(runs);
      const events = await operator.events({ type: 'COMMAND_REFUSED', agent_id: host.agentId() });
      expect(events.map(checkOf)).toHaveLength(1);
    });

    test('an unsigned command (section 5: strict mode)', async () => {
      const { host, operator, proxy } = await approvedStory();
      proxy.tamper = commandsBecome((commands) =>
        commands.map((command) => ({ ...command, signatures: [] })),
      );
      await expectRefused(host, operator, { type: 'COMMAND_REFUSED', check: 'unsigned' });
      await expectHonestWorldInstalls({ host, proxy });
    });

    test('a command that was changed under its signature', async () => {
      const { host, operator, proxy } = await approvedStory();
      proxy.tamper = commandsBecome((commands) => commands.map((command) => altered(command, { seq: 999 })));
      await expectRefused(host, operator, { type: 'COMMAND_REFUSED', check: 'bad_signature' });
      await expectHonestWorldInstalls({ host, proxy });
    });

    test('an expired command, although the right key signed it', async () => {
      const { host, operator, proxy, privateKeyHex } = await approvedStory();
      proxy.tamper = commandsBecome((commands) =>
        commands.map((command) => {
          const key = loadSigningKey({ keyId: keyIdOf(command), privateKeyHex });
          return forged(command, key, { ...PAST, command_id: FORGED_ID });
        }),
      );
      await expectRefused(host, operator, { type: 'COMMAND_REFUSED', check: 'expired' });
      await expectHonestWorldInstalls({ host, proxy });
    });

    test('a command signed by a revoked key, even after being offline during the rotation', async () => {
      const privateKeyHex = generatePrivateKeyHex(randomBytes(32));
      const { enrolled, operator, proxy } = await world({ SERVICE_SIGNING_PRIVATE_KEY: privateKeyHex });
      const host = await enrolled({ packages: [STORY] });
      const [first] = await operator.keys();
      if (first === undefined) throw new Error('the server has no key');
      const { version } = await operator.addKey();
      await operator.useKey(version);
      await approve(operator, host);
      await operator.revokeKey(first.version);

      const revoked = loadSigningKey({ keyId: first.key_id, privateKeyHex });
      const forgery = { key_id: first.key_id, key_version: first.version, command_id: FORGED_ID };
      proxy.tamper = commandsBecome((commands) =>
        commands.map((command) => forged(command, revoked, forgery)),
      );
      await expectRefused(host, operator, { type: 'COMMAND_REFUSED', check: 'bad_signature' });
      await expectHonestWorldInstalls({ host, proxy });
    });

    test('a token whose hash list was altered', async () => {
      const { host, operator, proxy } = await approvedStory();
      proxy.tamper = ({ path, body }) =>
        path.includes('/approvals/') && Check(Envelope, body) ? altered(body, otherHashes(body)) : body;
      await expectRefused(host, operator, { type: 'COMMAND_REFUSED', check: 'bad_signature' });
    });

    test('a token with an altered hash list, signed again with a stolen key', async () => {
      const { host, operator, proxy, privateKeyHex } = await approvedStory();
      const [first] = await operator.keys();
      const key = loadSigningKey({ keyId: first?.key_id ?? '', privateKeyHex });
      proxy.tamper = ({ path, body }) =>
        path.includes('/approvals/') && Check(Envelope, body) ? forged(body, key, otherHashes(body)) : body;
      await expectRefused(host, operator, { type: 'COMMAND_REFUSED', check: 'not_the_referenced_one' });
    });

    test('to run twice on the same configuration (section 5)', async () => {
      const { enrolled, operator, proxy } = await world();
      const host = await enrolled({ packages: [STORY] });
      const polling = { interval_seconds: 1 };
      await operator.call('POST', `/api/v1/agents/${host.agentId()}/polling`, polling);
      must(await host.runOnce());
      const first = host.run();
      await first.line(/agent started/);
      first.signal('SIGSTOP'); // it holds the lock and does nothing
      await approve(operator, host);
      const config = readFileSync(`${host.configDir}/config.json`);

      const second = await host.runOnce();
      expect(second.code).toBe(1);
      expect(JSON.stringify(second.json)).toContain('another');
      expect(await host.installed()).toEqual(OLD);
      expect(readFileSync(`${host.configDir}/config.json`).equals(config)).toBe(true);

      first.signal('SIGCONT');
      await eventually(async () => expect(await host.installed()).toEqual(NEW));
      await eventually(async () =>
        expect((await operator.events({ type: 'AGENT_ERROR' })).map(checkOf)).toEqual(['second_process']),
      );
      first.signal('SIGTERM');
      expect((await first.ended).code).toBe(0);
      expect(await host.trace(TRACE)).toHaveLength(Object.keys(NEW).length);
      expect(proxy.tamper).toBeNull();
    });
  },
);

type Story = World & { host: Host; privateKeyHex: string };

async function world(env: Record<string, string> = {}): Promise<World> {
  if (engine === undefined) throw new Error('there is no engine');
  return createWorld(engine, env);
}

/** A host with an approved update that it has not fetched; the attacker knows the server's key. */
async function approvedStory(): Promise<Story> {
  const privateKeyHex = generatePrivateKeyHex(randomBytes(32));
  const made = await world({ SERVICE_SIGNING_PRIVATE_KEY: privateKeyHex });
  const host = await made.enrolled({ packages: [STORY] });
  await approve(made.operator, host);
  return { ...made, host, privateKeyHex };
}

async function approve(operator: Operator, host: Host): Promise<void> {
  const [update] = await operator.updates({ name: 'demo', agent_id: host.agentId() });
  await operator.approved(update?.id ?? '');
}

/** One full round: nothing is installed, no maintainer script runs, and the server knows why. */
async function expectRefused(
  host: Host,
  operator: Operator,
  expected: { type: string; check?: string },
): Promise<void> {
  must(await host.runOnce());
  expect(await host.installed()).toEqual(OLD);
  expect(await host.trace(TRACE)).toEqual([]);
  const events = await operator.events({ type: expected.type, agent_id: host.agentId() });
  const commands = await operator.commands({ agent_id: host.agentId() });
  expect(events.length, JSON.stringify(commands.map(({ reason }) => reason))).toBeGreaterThan(0);
  if (expected.check !== undefined) expect(new Set(events.map(checkOf))).toEqual(new Set([expected.check]));
}

/** The attack was refused, but the command itself is still valid. */
async function expectHonestWorldInstalls({ host, proxy }: Pick<Story, 'host' | 'proxy'>): Promise<void> {
  proxy.tamper = null;
  must(await host.runOnce());
  expect(await host.installed()).toEqual(NEW);
}

const Checked = Type.Object({ details: Type.Object({ check: Type.String() }) });

function checkOf({ content }: EventItem): string | null {
  return Check(Checked, content) ? content.details.check : null;
}

function keyIdOf(command: Envelope): string {
  return String(fieldsOf(command).key_id);
}

function otherHashes(token: Envelope): Record<string, unknown> {
  const actions = Value.Parse(Type.Array(PlanAction), fieldsOf(token).actions);
  return {
    actions: actions.map(({ artifact, ...action }) => ({
      ...action,
      ...(artifact && { artifact: { ...artifact, sha256: '0'.repeat(64) } }),
    })),
  };
}

/** Changes one byte in the middle of the file's data; its size stays. */
function flipByte(path: string): void {
  const bytes = readFileSync(path);
  const at = bytes.lastIndexOf('1.1-1');
  const { size } = statSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
  expect(statSync(path).size).toBe(size);
}

async function reindex(host: Host): Promise<void> {
  await host.apt.archive.reindex();
  await runTool('apt-get', ['-qq', 'update'], { env: host.apt.env });
}

/** The index, not the file, makes demo depend on another package, so its approved hash stays the same. */
function dependOnStowaway(host: Host): void {
  const lists = join(host.apt.root, 'var/lib/apt/lists');
  for (const name of readdirSync(lists).filter((file) => file.endsWith('_Packages'))) {
    const index = readFileSync(join(lists, name), 'utf8');
    const depends = 'Depends: libdemo (>= 1.0-1+deb12u1)';
    writeFileSync(join(lists, name), index.replace(depends, `${depends}, stowaway`));
  }
}

async function eventually(check: () => Promise<void>, withinMs = 60_000): Promise<void> {
  const untilMs = performance.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > untilMs) throw error;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    setTimeout(resolve, 250);
    await promise;
  }
}
