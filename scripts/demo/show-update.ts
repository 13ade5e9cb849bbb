import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ApprovalPayload } from '@tidegate/protocol/documents';
import type { UpdateItem } from '@tidegate/protocol/updates-api';
import type { FakeOsv } from '@tidegate/testkit/fake-osv';
import { Value } from 'typebox/value';
import { createHost, type Host, must } from '../../e2e/harness/host.ts';
import { type Approved, Blocked, expectAnswer, type Operator } from '../../e2e/harness/operator.ts';
import type { ServerProcess } from '../../e2e/harness/server-process.ts';
import { ADVISORY, AFFECTED, STORY, TRACE } from '../../e2e/harness/story-packages.ts';
import { say, title } from './voice.ts';

export type Stage = { folder: string; server: ServerProcess; operator: Operator; osv: FakeOsv };

const REASON = 'the vulnerability is in a feature that this host does not use';

/** Shows one update from start to end, on a real package manager with really outdated packages. */
export async function showOneUpdate({ folder, server, operator, osv }: Stage): Promise<void> {
  title('One update, from an outdated host to an installed package');
  const dir = join(folder, 'host');
  await mkdir(dir);
  const host = await createHost(dir, { serverUrl: server.url, packages: [STORY] });
  try {
    say('host', `has ${shown(await host.installed())} and an archive with newer versions`);
    osv.addRecord({ id: ADVISORY, summary: 'a vulnerability in the library' }, AFFECTED);
    say('osv', `publishes ${ADVISORY}: the new libdemo has a known vulnerability`);
    await enrol(host, operator);
    const update = await report(host, operator);
    await stopped(operator, update);
    await overridden(operator, update);
    await installed(host, operator, update.id);
  } finally {
    await host.stop();
  }
}

async function enrol(host: Host, operator: Operator): Promise<void> {
  const token = await operator.registrationToken();
  say('operator', 'creates a registration token for one host, valid for 24 hours');
  must(await host.enrol(token));
  say('agent', `is enrolled as ${host.agentId()} and stores the server's signing keys`);
}

async function report(host: Host, operator: Operator): Promise<UpdateItem> {
  must(await host.runOnce());
  say('agent', 'scans the host, plans each update with the SHA-256 of every file, and reports to the server');
  const updates = await operator.updates({ agent_id: host.agentId() });
  for (const { name, current_version, available_version } of updates) {
    say('server', `lists the update ${name} ${current_version} -> ${available_version}`);
  }
  const update = updates.find(({ name }) => name === 'demo');
  if (update === undefined) throw new Error('the update of the demo was not reported');
  return update;
}

async function stopped(operator: Operator, update: UpdateItem): Promise<void> {
  say('operator', `approves ${update.name} ${update.available_version}`);
  const blocked = expectAnswer(await operator.approve(update.id), 409, Blocked);
  say('server', `answers ${blocked.status} ${blocked.code} (${blocked.reason}): the update is not approved`);
  for (const { id, package: name, in_closure: where } of blocked.introduces) {
    say('server', `  ${id} in ${name}, a ${where === 'dependency' ? 'dependency' : 'package'} of the update`);
  }
}

async function overridden(operator: Operator, update: UpdateItem): Promise<void> {
  say('operator', `approves it with an override, which needs a reason: "${REASON}"`);
  const approved = await operator.approved(update.id, {
    override_supply_chain: true,
    override_reason: REASON,
  });
  const { token, digest } = opened(approved);
  say('server', `signs the approval token ${token.token_id} with Ed25519`);
  say('server', `  SHA-256 of the token: ${digest}`);
  for (const { name, to_version, artifact } of token.actions) {
    say('server', `  allows ${name} ${to_version} with SHA-256 ${artifact?.sha256}`);
  }
  const [event] = await operator.events({ type: 'supply_chain_override' });
  say('server', `records the event ${event?.type} (${event?.component}) by ${event?.actor}`);
}

async function installed(host: Host, operator: Operator, updateId: string): Promise<void> {
  say('agent', 'checks in, receives the signed command and verifies it');
  const run = must(await host.runOnce());
  for (const line of run.log.filter((text) => text.includes('command'))) say('agent', `  ${line}`);
  const [command] = await operator.commands({ agent_id: host.agentId() });
  if (command?.status !== 'success') {
    say('agent', `does not install: ${command?.status}, ${command?.reason}`);
    if (process.getuid?.() !== 0) {
      say('host', 'The demo does not run as root. An installation runs without network access, in a network');
      say(
        'host',
        'namespace of its own, which only root can create. Run the demo as root to see the installation.',
      );
    }
    return;
  }
  say(
    'agent',
    `fetches and verifies the approval token, and downloads ${host.apt.fetched.filter(isDeb).length} files as an ordinary user`,
  );
  const scripts = await host.trace(TRACE);
  say(
    'executor',
    'verifies everything again, hashes its own copies, simulates the installation, and installs without network',
  );
  for (const line of scripts)
    say(
      'executor',
      `  ran the script of ${line.replace(/ (\S+)$/, ', which saw only the network device $1')}`,
    );
  say('host', `now has ${shown(await host.installed())}, as dpkg-query shows`);
  say(
    'server',
    `the update is ${(await operator.update(updateId)).state}, its command has the status ${command.status}`,
  );
}

function opened({ token }: Approved): { token: ApprovalPayload; digest: string } {
  const bytes = Buffer.from(token.payload, 'base64');
  const payload: unknown = JSON.parse(bytes.toString('utf8'));
  return {
    token: Value.Parse(ApprovalPayload, payload),
    digest: createHash('sha256').update(bytes).digest('hex'),
  };
}

function isDeb(path: string): boolean {
  return path.endsWith('.deb');
}

function shown(packages: Record<string, string>): string {
  return Object.entries(packages)
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
}
