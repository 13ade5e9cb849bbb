import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { REPAIR_PACKAGES_MAX, type RepairPackage } from '@tidegate/protocol/repairs';
import { CLOCK_SKEW_MS, timestamp } from '../../platform/clock.ts';
import { createKey, NOW_MS } from '../fleet.ts';
import type { JobParts, JobWorld } from '../job-world.ts';
import { type Attack, carryOut, payloadText, reEnveloped } from './attack.ts';

const REPAIR_ID = '01900000-0000-7000-8000-00000000face';
const DEMO: RepairPackage = {
  ...{ name: 'demo', arch: 'all', version: '2.0', state: 'half-configured' },
  scripts: { postinst: 'a'.repeat(64) },
};

/** A repair of `demo`, otherwise as `command` and `parts` say. */
export function repairing(command: object = {}, parts: Omit<JobParts, 'command'> = {}): JobParts {
  const params = { packages: [DEMO] };
  return { command: { action: 'repair', params, approval: undefined, ...command }, ...parts };
}

const withPackages = (...packages: object[]) => repairing({ params: { packages } });
const refusedBy = (reason: string) => ({ agent: `command ${reason}`, executor: `command_refused ${reason}` });
const byState = (reason: string) => ({ agent: `state ${reason}`, executor: `state_refused ${reason}` });
const byHost = (check: string) => ({ agent: `host_policy ${check}`, executor: `host_policy ${check}` });

function restrict(policy: object) {
  return ({ policy: { path } }: JobWorld) =>
    writeFileSync(path, JSON.stringify({ v: 1, ...policy }), { mode: 0o644 });
}

/** A repair runs scripts as root, and is a command alone: what is signed, for which host and when, is all there is. */
export const WRONG_REPAIRS: Attack[] = [
  {
    name: 'of another host',
    parts: () => repairing({ agent_id: randomUUID() }),
    ...refusedBy('wrong_agent'),
  },
  {
    name: 'of another machine',
    parts: () => repairing({ machine_sha256: 'a'.repeat(64) }),
    ...refusedBy('wrong_machine'),
  },
  {
    name: 'signed by a stranger',
    parts: () => repairing({}, { signedBy: createKey(1) }),
    ...refusedBy('bad_signature'),
  },
  {
    name: 'signed by nobody',
    parts: () => repairing({}, { envelope: (command) => ({ ...command, signatures: [] }) }),
    ...refusedBy('unsigned'),
  },
  {
    name: 'with one more package under the old signature',
    parts: () => repairing(),
    spoil: reEnveloped('command.json', (envelope) => {
      const text = payloadText(envelope).replace('"packages":[', `"packages":[${JSON.stringify(DEMO)},`);
      return { ...envelope, payload: Buffer.from(text).toString('base64') };
    }),
    ...refusedBy('bad_signature'),
  },
  {
    name: 'with the approval of an installation in place of the command',
    parts: ({ fleet, action }) =>
      repairing({}, { envelope: () => fleet.approval({ actions: [action] }).envelope }),
    ...refusedBy('wrong_type'),
  },
  {
    name: 'after its end',
    parts: () => repairing({ expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS) }),
    ...refusedBy('expired'),
  },
  {
    name: 'once more',
    before: async (world) => void (await carryOut(world, repairing({}, { commandId: REPAIR_ID }))),
    parts: () => repairing({ command_id: REPAIR_ID }),
    ...refusedBy('already_seen'),
  },
  {
    name: 'that was cancelled after it was delivered',
    parts: ({ fleet }) =>
      repairing({}, { commandId: REPAIR_ID, state: fleet.agentState({ revoked_tokens: [REPAIR_ID] }) }),
    ...byState('taken_back'),
  },
  { name: 'without a state', parts: () => repairing({}, { state: null }), ...byState('absent') },
  {
    name: 'with a state of before the command',
    parts: ({ fleet }) =>
      repairing(
        { issued_at: timestamp(NOW_MS) },
        { state: fleet.agentState({ server_time: timestamp(NOW_MS - 1_000) }) },
      ),
    ...byState('rolled_back'),
  },
  {
    name: 'of a package that would be an option of dpkg',
    parts: () => withPackages({ ...DEMO, name: '--force-all' }),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'of an architecture that would be a path',
    parts: () => withPackages({ ...DEMO, arch: '../../x' }),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'of a package that dpkg cannot finish',
    parts: () => withPackages({ ...DEMO, state: 'half-installed' }),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'with a script that dpkg does not run then',
    parts: () => withPackages({ ...DEMO, scripts: { prerm: 'a'.repeat(64) } }),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'of one package too many',
    parts: () => withPackages(...Array.from({ length: REPAIR_PACKAGES_MAX + 1 }, () => DEMO)),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'on a host that demands second signatures',
    before: restrict({
      require_second_signature: {
        keys: [{ key_id: 'ops', public_key_hex: createKey(1).entry.public_key_hex }],
        threshold: 1,
      },
    }),
    parts: () => repairing(),
    ...byHost('second_signature_missing'),
  },
  {
    name: 'of a package that the host never touches',
    before: restrict({ never_touch: { apt: ['dem*'] } }),
    parts: () => repairing(),
    ...byHost('never_touch'),
  },
  {
    name: 'on a host that does not allow apt',
    before: restrict({ ecosystems: ['npm'] }),
    parts: () => repairing(),
    ...byHost('ecosystem_not_allowed'),
  },
  {
    name: 'outside the hours of the host',
    before: restrict({ hours: [{ days: ['sun'], from: '02:00', to: '04:00' }] }),
    parts: () => repairing(),
    ...byHost('outside_hours'),
  },
  {
    name: 'under a policy that cannot be read',
    before: restrict({ v: 2 }),
    parts: () => repairing(),
    ...byHost('policy_unusable'),
  },
];
