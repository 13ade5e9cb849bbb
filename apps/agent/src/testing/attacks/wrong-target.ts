import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { APPROVAL_TYPE, COMMAND_TYPE } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import { signEnvelope } from '@tidegate/signing/sign';
import { createFleet, planDigest, updateOf, upgradeOf } from '../fleet.ts';
import { FILE, FILE_BYTES, type JobWorld } from '../job-world.ts';
import { type Attack, payloadText, reEnveloped, resigned } from './attack.ts';

const soundPlan = ({ action }: JobWorld) => ({ actions: [action] });

const withStowaway = ({ action }: JobWorld): PlanAction[] => {
  const other = upgradeOf({ name: 'stowaway.deb', bytes: FILE_BYTES });
  return [action, { ...other, name: 'stowaway' }];
};

/** Mix and match (T13): genuine parts that do not belong together. */
export const MIXED: Attack[] = [
  {
    name: 'a genuine approval of another update',
    parts: (world) => ({ approvalEnvelope: world.fleet.approval(soundPlan(world)).envelope }),
    agent: 'approval not_the_referenced_one',
    executor: 'approval_refused not_the_referenced_one',
  },
  {
    name: 'an approval of another update that the command does refer to',
    parts: (world) => {
      const { envelope, reference } = world.fleet.approval(soundPlan(world));
      return { command: { approval: reference }, approvalEnvelope: envelope };
    },
    agent: 'approval wrong_updates',
    executor: 'approval_refused wrong_updates',
  },
  {
    name: 'an approval of one update more than the command names',
    parts: (world) => {
      const plan = soundPlan(world);
      const updates = [
        updateOf('00000000-0000-4000-8000-000000000000'),
        updateOf('ffffffff-ffff-4fff-8fff-ffffffffffff'),
      ];
      const { envelope, reference } = world.fleet.approval({ ...plan, updates });
      const params = { update_ids: ['00000000-0000-4000-8000-000000000000'] };
      return { command: { approval: reference, params }, approvalEnvelope: envelope };
    },
    agent: 'approval wrong_updates',
    executor: 'approval_refused wrong_updates',
  },
  {
    name: 'a command that names an update of its approval twice',
    parts: (world) => {
      const id = '00000000-0000-4000-8000-000000000000';
      const { envelope, reference } = world.fleet.approval({
        ...soundPlan(world),
        updates: [updateOf(id), updateOf(id)],
      });
      return {
        command: { approval: reference, params: { update_ids: [id, id] } },
        approvalEnvelope: envelope,
      };
    },
    agent: 'approval wrong_updates',
    executor: 'approval_refused wrong_updates',
  },
  {
    name: 'an approval with an update that no action brings',
    parts: (world) => {
      const ids = ['00000000-0000-4000-8000-000000000000', 'ffffffff-ffff-4fff-8fff-ffffffffffff'];
      const updates = [updateOf(ids[0] ?? ''), updateOf(ids[1] ?? '', { name: 'other' })];
      const { envelope, reference } = world.fleet.approval({ ...soundPlan(world), updates });
      return { command: { approval: reference, params: { update_ids: ids } }, approvalEnvelope: envelope };
    },
    agent: 'approval unsound_plan',
    executor: 'approval_refused unsound_plan',
  },
  {
    name: 'the digest of another approval under the id of this one',
    parts: (world) => ({
      command: { approval: { ...world.fleet.approval().reference, token_id: randomUUID() } },
    }),
    agent: 'approval not_the_referenced_one',
    executor: 'approval_refused not_the_referenced_one',
  },
  {
    name: 'the id of another approval under the digest of this one',
    parts: (world) => {
      const { envelope, reference } = world.fleet.approval(soundPlan(world));
      return {
        command: { approval: { ...reference, token_id: randomUUID() } },
        approvalEnvelope: envelope,
      };
    },
    agent: 'approval not_the_referenced_one',
    executor: 'approval_refused not_the_referenced_one',
  },
  {
    name: 'the artifacts of another update, of the same size, under this token',
    spoil: (job) =>
      writeFileSync(
        join(job, 'artifacts', FILE),
        FILE_BYTES.map((byte) => byte ^ 1),
      ),
    agent: 'artifact_mismatch',
    executor: 'artifact_hash_differs',
    learns: 'accepted',
  },
  {
    name: 'a closure with one package more, its digest recomputed, under the old signature',
    spoil: (job, world) =>
      reEnveloped('approval.json', (envelope) => {
        const actions = withStowaway(world);
        const changed = { ...JSON.parse(payloadText(envelope)), actions, plan_sha256: planDigest(actions) };
        return { ...envelope, payload: Buffer.from(JSON.stringify(changed)).toString('base64') };
      })(job),
    agent: 'approval bad_signature',
    executor: 'approval_refused bad_signature',
  },
  {
    name: 'the same, signed anew with a stolen key: the command still names the first',
    spoil: (job, world) =>
      reEnveloped('approval.json', (envelope) =>
        resigned(
          world.fleet.key,
          (text) => {
            const actions = withStowaway(world);
            return JSON.stringify({ ...JSON.parse(text), actions, plan_sha256: planDigest(actions) });
          },
          APPROVAL_TYPE,
        )(envelope),
      )(job),
    agent: 'approval not_the_referenced_one',
    executor: 'approval_refused not_the_referenced_one',
  },
  {
    name: 'a closure that does not match its own digest',
    parts: (world) => ({
      approval: { actions: withStowaway(world), plan_sha256: planDigest([world.action]) },
    }),
    agent: 'approval plan_digest_differs',
    executor: 'approval_refused plan_digest_differs',
  },
  {
    name: 'a plan that does not reach the version that was approved',
    parts: ({ action }) => ({ approval: { actions: [{ ...action, to_version: '1.9' }] } }),
    agent: 'approval unsound_plan',
    executor: 'approval_refused unsound_plan',
  },
  {
    name: 'a command that was changed under its signature',
    spoil: reEnveloped('command.json', (envelope) => ({
      ...envelope,
      payload: Buffer.from(payloadText(envelope).replace('"epoch":1', '"epoch":2')).toString('base64'),
    })),
    agent: 'command bad_signature',
    executor: 'command_refused bad_signature',
  },
  {
    name: 'the signature of one command under another',
    parts: ({ fleet }) => ({
      envelope: (command) => ({ ...command, signatures: fleet.command().signatures }),
    }),
    agent: 'command bad_signature',
    executor: 'command_refused bad_signature',
  },
  {
    name: 'a genuine command in the job folder of another one',
    parts: () => ({ command: { command_id: randomUUID() } }),
    agent: 'ok',
    executor: 'command_refused wrong_job',
  },
];

/** Documents that are good, for somebody else (T15), or that mean something else. */
export const MISDIRECTED: Attack[] = [
  {
    name: 'a command for another agent',
    parts: () => ({ command: { agent_id: randomUUID() } }),
    agent: 'command wrong_agent',
    executor: 'command_refused wrong_agent',
  },
  {
    name: 'a command for another fleet, by a key that both have',
    parts: () => ({ command: { fleet_id: randomUUID() } }),
    agent: 'command wrong_fleet',
    executor: 'command_refused wrong_fleet',
  },
  {
    name: 'a command for this agent on another machine',
    parts: () => ({ command: { machine_sha256: 'a'.repeat(64) } }),
    agent: 'command wrong_machine',
    executor: 'command_refused wrong_machine',
  },
  {
    name: 'a command by the key of another fleet',
    parts: () => ({ signedBy: createFleet().key }),
    agent: 'command bad_signature',
    executor: 'command_refused bad_signature',
  },
  {
    name: 'an approval for another agent, which the command refers to',
    parts: () => ({ approval: { agent_id: randomUUID() } }),
    agent: 'approval wrong_agent',
    executor: 'approval_refused wrong_agent',
  },
  {
    name: 'an approval for another fleet, which the command refers to',
    parts: () => ({ approval: { fleet_id: randomUUID() } }),
    agent: 'approval wrong_fleet',
    executor: 'approval_refused wrong_fleet',
  },
  {
    name: 'an approval in the place of the command',
    parts: ({ fleet }) => ({ envelope: () => fleet.approval().envelope }),
    agent: 'command wrong_type',
    executor: 'command_refused wrong_type',
  },
  {
    name: 'a key set in the place of the command',
    parts: ({ fleet }) => ({ envelope: () => fleet.keySet({ version: 2, keys: [fleet.key.entry] }) }),
    agent: 'command wrong_type',
    executor: 'command_refused wrong_type',
  },
  {
    name: 'the state of the fleet in the place of the command',
    parts: ({ fleet }) => ({ envelope: () => fleet.state() }),
    agent: 'command wrong_type',
    executor: 'command_refused wrong_type',
  },
  {
    name: 'a command in the place of the approval',
    parts: ({ fleet }) => ({ approvalEnvelope: fleet.command() }),
    agent: 'approval wrong_type',
    executor: 'approval_refused wrong_type',
  },
  {
    name: 'a command that was signed as an approval and relabelled',
    parts: ({ fleet }) => ({
      envelope: (command) => ({
        ...signEnvelope(fleet.key.key, APPROVAL_TYPE, Buffer.from(payloadText(command))),
        payloadType: COMMAND_TYPE,
      }),
    }),
    agent: 'command bad_signature',
    executor: 'command_refused bad_signature',
  },
  {
    name: 'the form of an approval, signed as a command',
    parts: ({ fleet }) => ({
      envelope: () => resigned(fleet.key, () => payloadText(fleet.approval().envelope))(fleet.command()),
    }),
    agent: 'command invalid_payload',
    executor: 'command_refused invalid_payload',
  },
  {
    name: 'a command that installs nothing',
    parts: () => ({ command: { action: 'scan', params: {}, approval: undefined } }),
    agent: 'ok',
    executor: 'not_an_install',
  },
  {
    name: 'an installation without an approval',
    parts: () => ({ command: { approval: undefined } }),
    agent: 'approval_missing',
    executor: 'not_an_install',
  },
];
