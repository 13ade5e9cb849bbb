import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { APPROVAL_TYPE, type ApprovedUpdate } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import { planDigest, referenceTo, type TestFleet, updateOf, upgradeOf } from '../fleet.ts';
import { FILE_BYTES, type JobParts, type JobWorld } from '../job-world.ts';
import { type Attack, payloadText, resigned } from './attack.ts';

const malformed = { agent: 'approval malformed', executor: 'approval_refused malformed' };
const unsound = { agent: 'approval unsound_plan', executor: 'approval_refused unsound_plan' };
const digest = { agent: 'approval plan_digest_differs', executor: 'approval_refused plan_digest_differs' };
const drift = { agent: 'ok', executor: 'plan_drift', learns: 'accepted' } as const;

/** Ids in ascending order, as one set has one form. */
const idsOf = (count: number) => Array.from({ length: count }, () => randomUUID()).toSorted();

/** Another package beside `demo`, made of a file of its own. */
const OTHER: PlanAction = { ...upgradeOf({ name: 'other_2.0_all.deb', bytes: FILE_BYTES }), name: 'other' };
const leaveOther = (job: string) => writeFileSync(join(job, 'artifacts', 'other_2.0_all.deb'), FILE_BYTES);

/** A job of two updates, `demo` and the other one as `changed` describes it; everything is signed. */
function twoUpdates(
  changed: Partial<ApprovedUpdate>,
  actionsOf: (action: PlanAction) => PlanAction[] = (action) => [action, OTHER],
) {
  return ({ action }: JobWorld): JobParts => {
    const [first = '', second = ''] = idsOf(2);
    const updates = [updateOf(first), updateOf(second, { name: 'other', ...changed })];
    return {
      command: { params: { update_ids: [first, second] } },
      approval: { updates, actions: actionsOf(action) },
    };
  };
}

/** A job whose approval has its text changed before it is signed; the command refers to it as it then is. */
function rewritten(change: (text: string, fleet: TestFleet) => string) {
  return ({ action, fleet }: JobWorld): JobParts => {
    const [id = ''] = idsOf(1);
    const { envelope } = fleet.approval({ updates: [updateOf(id)], actions: [action] });
    const approvalEnvelope = resigned(fleet.key, (text) => change(text, fleet), APPROVAL_TYPE)(envelope);
    if (payloadText(approvalEnvelope) === payloadText(envelope)) throw new Error('nothing is changed');
    const approval = referenceTo(approvalEnvelope);
    return { command: { params: { update_ids: [id] }, approval }, approvalEnvelope };
  };
}

/** So many updates of `demo`; the command names the first of them. */
function many(count: number, inCommand = count) {
  return ({ action }: JobWorld): JobParts => {
    const ids = idsOf(count);
    return {
      command: { params: { update_ids: ids.slice(0, inCommand) } },
      approval: { updates: ids.map((id) => updateOf(id)), actions: [action] },
    };
  };
}

/** A token names the updates of one host and one ecosystem, and one transaction that brings exactly these. */
export const WRONG_SETS: Attack[] = [
  {
    name: 'an update that the transaction brings to another version',
    parts: twoUpdates({ to_version: '2.1' }),
    ...unsound,
  },
  {
    name: 'an update that the transaction brings for another architecture',
    parts: twoUpdates({ arch: 'i386' }, (action) => [action, { ...OTHER, arch: 'amd64' }]),
    ...unsound,
  },
  {
    name: 'an update that the transaction removes',
    parts: twoUpdates({}, (action) => [action, { action: 'remove', name: 'other', from_version: '1.0' }]),
    ...unsound,
  },
  {
    name: 'an action of no update, which these updates do not bring on this host',
    parts: ({ action }) => ({ approval: { actions: [action, OTHER] } }),
    spoil: leaveOther,
    ...drift,
  },
  {
    name: 'a removal of no update, which these updates do not cause on this host',
    parts: ({ action }) => ({
      approval: { actions: [action, { action: 'remove', name: 'sshd', from_version: '1.0' }] },
    }),
    ...drift,
  },
  {
    name: 'an action for a package that one of the updates names already',
    parts: ({ action }) => ({ approval: { actions: [action, { ...OTHER, name: 'demo' }] } }),
    spoil: leaveOther,
    ...unsound,
  },
  {
    name: 'an approval of two hosts',
    parts: rewritten((text, { agentId }) =>
      text.replace(`"agent_id":"${agentId}"`, `"agent_id":["${agentId}","${randomUUID()}"]`),
    ),
    ...malformed,
  },
  {
    name: 'an approval that names two hosts one after the other',
    parts: rewritten((text, { agentId }) => text.replace('{', `{"agent_id":"${agentId}",`)),
    ...malformed,
  },
  {
    name: 'an approval whose updates name a host each',
    parts: rewritten((text) => text.replace('"update_id":', `"agent_id":"${randomUUID()}","update_id":`)),
    ...malformed,
  },
  {
    name: 'an approval of two ecosystems',
    parts: rewritten((text) => text.replace('"ecosystem":"apt"', '"ecosystem":["apt","npm"]')),
    ...malformed,
  },
  {
    name: 'an approval whose updates name an ecosystem each',
    parts: rewritten((text) => text.replace('"update_id":', '"ecosystem":"npm","update_id":')),
    ...malformed,
  },
  {
    name: 'an approval whose actions name an ecosystem each',
    parts: rewritten((text) => text.replace('"action":', '"ecosystem":"npm","action":')),
    ...malformed,
  },
  {
    name: 'an update of npm in a transaction of apt',
    parts: twoUpdates({ arch: '/srv/app' }, (action) => [action, { ...OTHER, arch: '/srv/app' }]),
    spoil: leaveOther,
    ...drift,
  },
  {
    name: 'an approval of 2,001 updates',
    parts: many(2_001, 2_000),
    ...malformed,
  },
  {
    name: 'a command of 2,001 updates',
    parts: many(2_001),
    agent: 'command invalid_payload',
    executor: 'command_refused invalid_payload',
  },
  {
    name: 'an approval of no update',
    parts: many(0),
    agent: 'command invalid_payload',
    executor: 'command_refused invalid_payload',
  },
  {
    name: 'the digest of the transaction of one update over that of two',
    parts: (world) => {
      const parts = twoUpdates({})(world);
      return { ...parts, approval: { ...parts.approval, plan_sha256: planDigest([world.action]) } };
    },
    ...digest,
  },
  {
    name: 'a digest with one character altered',
    parts: ({ action }) => ({ approval: { actions: [action], plan_sha256: altered(planDigest([action])) } }),
    ...digest,
  },
  {
    name: 'the digest of the same actions in another order',
    parts: (world) => {
      const parts = twoUpdates({})(world);
      return { ...parts, approval: { ...parts.approval, plan_sha256: planDigest([OTHER, world.action]) } };
    },
    ...digest,
  },
  {
    name: 'the digest of one file altered, the rest in order',
    parts: ({ action }) => ({
      approval: {
        actions: [
          {
            ...action,
            ...(action.artifact && {
              artifact: { ...action.artifact, sha256: altered(action.artifact.sha256 ?? '') },
            }),
          },
        ],
      },
    }),
    agent: 'artifact_mismatch',
    executor: 'artifact_hash_differs',
    learns: 'accepted',
  },
];

function altered(hex: string): string {
  return `${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}`;
}
