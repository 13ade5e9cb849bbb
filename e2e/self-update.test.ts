import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { signDetached } from '@tidegate/signing/sign';
import { loadTrustedKey, publicKeyPem } from '@tidegate/signing/verify';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AGENT_UNIT } from '../apps/agent/src/executor/agent-trial.ts';
import { switchLink } from '../apps/agent/src/executor/agent-versions.ts';
import { AGENT_VERSION } from '../apps/agent/src/platform/version.ts';
import { createReleaseKey, TARGET } from '../apps/agent/src/testing/own-agent-world.ts';
import { createStandInHost } from '../apps/agent/src/testing/stand-in-host.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { compileAgent, OWN_TARGET } from '../scripts/compile-agent.ts';
import { writeTarGz } from '../scripts/release/archive.ts';
import { AGENT_BINARY } from './harness/agent-binary.ts';
import { type Child, startChild } from './harness/child.ts';
import { createAgentOn, finish, must, pollEachSecond } from './harness/host.ts';
import { type Operator, pause } from './harness/operator.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const NEXT = '99.0.0';
const BROKEN = '99.1.0';
const missing = storyMissing();
const [engine] = ENGINES;

describe.skipIf(missing !== null || engine === undefined)(
  `an agent without a package${missing === null ? '' : ` (${missing})`}`,
  () => {
    test('is updated through the gate, and a version that does not work is taken back and not tried again', {
      timeout: 120_000,
    }, async () => {
      const host = await aHost();
      const { operator, release, links } = host;
      release({ [NEXT]: compiled(host.folder, NEXT) });
      must(await host.runOnce());
      const update = await offered(operator, NEXT);
      expect(update).toMatchObject({
        ecosystem: 'tidegate',
        name: 'tidegate-agent',
        current_version: AGENT_VERSION,
      });
      await operator.approved(update.id);
      await host.untilEnded(update.id);
      expect(await operator.update(update.id)).toMatchObject({ state: 'installed' });
      expect(links()).toEqual({ agent: NEXT, proven: NEXT });
      expect(host.restarts()).toBe(1);
      const shown = await operator.call('GET', `/api/v1/agents/${host.agentId()}`);
      expect(shown.body).toMatchObject({ agent_version: NEXT });

      release({ [BROKEN]: Buffer.from('#!/bin/sh\nexit 1\n') });
      must(await host.runOnce());
      const broken = await offered(operator, BROKEN);
      await operator.approved(broken.id);
      await host.untilEnded(broken.id);
      const failed = await operator.update(broken.id);
      expect(failed.state).toBe('failed');
      expect(JSON.stringify(failed)).toContain(
        `version ${BROKEN} failed: it ended; this host is back at ${NEXT}`,
      );
      expect(links()).toEqual({ agent: NEXT, proven: NEXT });
      expect(host.restarts()).toBe(3);
      // It is offered no more, and nothing else happens by itself.
      must(await host.runOnce());
      expect((await operator.updates({ name: 'tidegate-agent', state: 'pending' })).length).toBe(0);
      expect(host.restarts()).toBe(3);
    });
  },
);

/** An update that is ready to be approved. */
async function offered(operator: Operator, version: string) {
  const [update] = (await operator.updates({ name: 'tidegate-agent', state: 'pending' })).filter(
    ({ available_version }) => available_version === version,
  );
  if (update === undefined)
    throw new Error(`${version} was not reported: ${JSON.stringify(await operator.updates())}`);
  return update;
}

/** The agent of these sources, which says that it is another version. */
function compiled(folder: string, version: string): Buffer {
  const outfile = join(folder, `built-${version}`);
  const built = compileAgent({ target: OWN_TARGET, outfile, version });
  if (!built.ok) throw new Error(built.fault);
  const program = readFileSync(outfile);
  rmSync(outfile);
  return program;
}

/** An enrolled host whose agent lies side by side, and whose systemd is this test. */
async function aHost() {
  if (engine === undefined) throw new Error('the story is skipped');
  const temporary = tmpDir('tidegate-side-');
  onTestFinished(() => temporary.remove());
  const folder = temporary.path;
  const agents = join(folder, 'agents');
  mkdirSync(agents);
  const machine = createStandInHost(folder);
  const world = await createWorld(engine, { SERVICE_AGENTS_DIR: agents });
  const lib = join(folder, 'lib');
  mkdirSync(join(lib, 'versions', AGENT_VERSION), { recursive: true });
  copyFileSync(AGENT_BINARY, join(lib, 'versions', AGENT_VERSION, 'tidegate-agent'));
  for (const name of ['agent', 'proven'] as const) switchLink(lib, name, AGENT_VERSION);
  const key = createReleaseKey();
  const pem = join(folder, 'release.pem');
  writeFileSync(pem, publicKeyPem(loadTrustedKey({ keyId: 'release', publicKeyHex: key.publicKeyHex })));
  chmodSync(pem, 0o644);
  const places = ['--ecosystems', 'tidegate', '--agent-versions', lib, '--release-key', pem];
  const agent = await createAgentOn(folder, {
    serverUrl: world.server.url,
    machineId: 'side-by-side',
    places,
  });
  must(await agent.enrol(await world.operator.registrationToken()));
  pollEachSecond(agent);

  const run = (...args: string[]) =>
    startChild(
      join(lib, 'agent'),
      ['run', '--json', '--config', agent.configDir, '--host-root', machine.root, ...args],
      {
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', TMPDIR: '/tmp' },
      },
    );
  const restarts = () => machine.calls().filter((call) => call.startsWith('systemctl restart')).length;
  const versionAt = (name: string) => readlinkSync(join(lib, name)).split('/')[1];

  return {
    ...{ operator: world.operator, folder, restarts, agentId: agent.agentId },
    links: () => ({ agent: versionAt('agent'), proven: versionAt('proven') }),
    runOnce: () => finish(run('--once')),
    /** Makes the folder of agents one release with these programs. */
    release: (programs: Record<string, Buffer>) => {
      for (const name of readdirSync(agents)) rmSync(join(agents, name));
      const lines = Object.entries(programs).map(([version, bytes]) => {
        const name = `tidegate-agent_${version}_${TARGET}`;
        const tree = join(folder, name);
        mkdirSync(join(tree, 'usr/bin'), { recursive: true });
        writeFileSync(join(tree, 'usr/bin/tidegate-agent'), bytes, { mode: 0o755 });
        writeFileSync(join(tree, 'usr/README'), 'a file beside it');
        const out = join(agents, `${name}.tar.gz`);
        writeTarGz(tree, { out, epochSeconds: 0, gzipLevel: 1 });
        rmSync(tree, { recursive: true });
        const archive = readFileSync(out);
        return `${createHash('sha256').update(archive).digest('hex')}  ${name}.tar.gz\n`;
      });
      const sums = Buffer.from(lines.join(''));
      writeFileSync(join(agents, 'SHA256SUMS'), sums);
      writeFileSync(join(agents, 'SHA256SUMS.sig'), signDetached(key, sums));
    },
    /** Runs the agent as its unit does until an update has ended: what the executor restarts is ended and begins anew. */
    untilEnded: async (updateId: string) => {
      let child = run();
      let done = restarts();
      try {
        for (;;) {
          machine.unit(AGENT_UNIT, { active: child.hasEnded() ? 'failed' : 'active', invocation: 'a' }, null);
          if (restarts() > done) {
            done += 1;
            await endOf(child);
            child = run();
          }
          const { state } = await world.operator.update(updateId);
          if (state === 'installed' || state === 'failed') return;
          await pause(200);
        }
      } finally {
        await endOf(child);
      }
    },
  };
}

/** Its streams stay open as long as the executor that it started. */
async function endOf(child: Child): Promise<void> {
  if (!child.hasEnded()) child.signal('SIGKILL');
  while (!child.hasEnded()) await pause(20);
}
