import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { ApprovalPayload, CommandPayload, Envelope } from '@tidegate/protocol/documents';
import { type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { completeJob, makeJob } from '../apps/agent/src/jobs/job-folder.ts';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { AGENT_BINARY } from './harness/agent-binary.ts';
import { startChild } from './harness/child.ts';
import { fieldsOf } from './harness/forge.ts';
import { finish, type Host } from './harness/host.ts';
import { expectAnswer } from './harness/operator.ts';
import { NEW, OLD, STORY, TRACE } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
const [engine] = ENGINES;

/** The members of config.json that an attacker with the agent's user needs. */
const Config = Type.Object({ agent_id: Type.String(), access_token: Type.String(), key_set: Envelope });

describe.skipIf(missing !== null || engine === undefined)(
  `an attacker with the agent's user${missing === null ? '' : ` (${missing})`}`,
  () => {
    test('cannot use an approval that was withdrawn after its delivery', async () => {
      const { host, operator, thief, updateId } = await delivered();
      const before = await thief.call('GET', '/state', Envelope);
      expectAnswer(
        await operator.call('POST', `/api/v1/updates/${updateId}/reopen`, {}),
        200,
        Type.Unknown(),
      );
      expect((await thief.answer('GET', thief.approvalPath)).status).toBe(404);

      const after = await thief.call('GET', '/state', Envelope);
      expect(fieldsOf(after).revoked_tokens).toEqual([thief.tokenId]);
      expect(await thief.execute(after)).toMatchObject({ failure: 'state_refused', check: 'taken_back' });
      expect(fieldsOf(before).revoked_tokens).toEqual([]);
      expect(await thief.execute(before, { again: true })).toMatchObject({ check: 'rolled_back' });
      expect(await host.installed()).toEqual(OLD);
      expect(await host.trace(TRACE)).toEqual([]);
    });

    test('cannot install without a state, or with that of the whole fleet', async () => {
      const { host, thief } = await delivered();
      expect(await thief.execute(null)).toMatchObject({ failure: 'state_refused', check: 'absent' });
      expect(await thief.execute(thief.fleetState, { again: true })).toMatchObject({ check: 'wrong_type' });
      expect(await host.installed()).toEqual(OLD);
    });

    test('can install a valid approval, so that the refusals above prove something', async () => {
      const { host, thief } = await delivered();
      const state = await thief.call('GET', '/state', Envelope);
      expect(await thief.execute(state)).toMatchObject({ failure: null, result: { status: 'success' } });
      expect(await host.installed()).toEqual(NEW);
    });
  },
);

/** An update that is approved and delivered to an attacker, who acknowledges nothing and does not use the agent. */
async function delivered() {
  if (engine === undefined) throw new Error('there is no engine');
  const { enrolled, operator, server } = await createWorld(engine);
  const host = await enrolled({ packages: [STORY] });
  const [update] = await operator.updates({ name: 'demo', agent_id: host.agentId() });
  const updateId = update?.id ?? '';
  await operator.approved(updateId);
  return { host, operator, updateId, thief: await becomeAgent(server.url, host) };
}

async function becomeAgent(url: string, host: Host) {
  const config = Value.Parse(
    Config,
    Value.Clean(Config, JSON.parse(readFileSync(join(host.configDir, 'config.json'), 'utf8'))),
  );
  const dir = dirname(host.configDir);
  const answer = async (method: string, path: string, body?: object) => {
    const response = await fetch(`${url}/api/v1/agents/${config.agent_id}${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${config.access_token}`,
        'x-machine-id': readFileSync(join(dir, 'machine-id'), 'utf8').trim(),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answered: unknown = await response.json();
    return { status: response.status, body: answered };
  };
  const checkedIn = expectAnswer(
    await answer('POST', '/check-in', {
      ...{ agent_version: '0.1.0', boot_id: 'boot', uptime_seconds: 1, received: [], key_set_version: 1 },
      inventory_digest: {},
    }),
    200,
    CheckInAnswer,
  );
  const commands = checkedIn.commands.map((envelope) => ({
    envelope,
    payload: Value.Parse(CommandPayload, fieldsOf(envelope)),
  }));
  const install = commands.find(({ payload }) => payload.action === 'install_update');
  const tokenId = install?.payload.approval?.token_id;
  if (install === undefined || tokenId === undefined) throw new Error('nothing was delivered');
  const approvalPath = `/approvals/${tokenId}`;
  const call = async <T extends TSchema>(method: string, path: string, schema: T) =>
    expectAnswer(await answer(method, path), 200, schema);
  const approval = await call('GET', approvalPath, Envelope);
  const { actions } = Value.Parse(ApprovalPayload, fieldsOf(approval));

  /** Writes the job to the spool and starts the executor as the host does. */
  async function execute(state: Envelope | null, { again = false } = {}): Promise<unknown> {
    const commandId = install?.payload.command_id ?? '';
    const results = join(dir, 'executor', 'results', `${commandId}.json`);
    if (again) rmSync(results);
    const job = makeJob(join(dir, 'spool'), commandId);
    for (const { name, to_version, artifact } of actions) {
      if (artifact)
        copyFileSync(
          host.apt.debPath(name, to_version ?? ''),
          join(job.artifacts, basename(artifact.filename)),
        );
    }
    completeJob(job.folder, {
      command: new TextEncoder().encode(JSON.stringify(install?.envelope)),
      approval,
      keySet: config.key_set,
      state,
    });
    const args = ['execute', '--json', '--job', job.folder, '--state', join(dir, 'executor')];
    const run = await finish(
      startChild('unshare', ['--net', '--', AGENT_BINARY, ...args], {
        env: { PATH: process.env.PATH ?? '' },
      }),
    );
    expect(run.code, run.log.join('\n')).toBe(0);
    return JSON.parse(readFileSync(results, 'utf8'));
  }

  return { answer, call, approvalPath, tokenId, fleetState: checkedIn.state, execute };
}
