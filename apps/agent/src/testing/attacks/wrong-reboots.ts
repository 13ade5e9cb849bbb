import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESTART_UNITS_MAX } from '@tidegate/protocol/reboots';
import { completeJob, JOB_FILES, makeJob } from '../../jobs/job-folder.ts';
import { CLOCK_SKEW_MS, timestamp } from '../../platform/clock.ts';
import { createKey, NOW_MS } from '../fleet.ts';
import type { JobParts, JobWorld } from '../job-world.ts';
import { BOOT_ID, NEXT_BOOT_ID } from '../stand-in-host.ts';
import { type Attack, carryOut, payloadText, reEnveloped } from './attack.ts';

const REBOOT_ID = '01900000-0000-7000-8000-00000000b007';
const MINUTE_MS = 60_000;
const ORDER = { boot_id: BOOT_ID, warn_minutes: 0, cause: 'kernel update' };

/** A reboot of this boot, otherwise as `order`, `command` and `parts` say. */
export function rebooting(
  order: object = {},
  { command = {}, ...parts }: JobParts = {},
): JobParts & { command: object } {
  const params = { ...ORDER, ...order };
  return { command: { action: 'reboot', params, approval: undefined, ...command }, ...parts };
}

export function restarting(units: unknown, { command = {}, ...parts }: JobParts = {}): JobParts {
  const params = { units };
  return { command: { action: 'restart_services', params, approval: undefined, ...command }, ...parts };
}

const refusedBy = (reason: string) => ({ agent: `command ${reason}`, executor: `command_refused ${reason}` });
const byState = (reason: string) => ({ agent: `state ${reason}`, executor: `state_refused ${reason}` });
const byHost = (check: string) => ({ agent: `host_policy ${check}`, executor: `host_policy ${check}` });
/** Only the executor looks at the running host. */
const byExecutor = (failure: string) => ({ agent: 'ok', executor: failure, learns: 'accepted' as const });

function restrict(policy: object) {
  return ({ policy: { path } }: JobWorld) =>
    writeFileSync(path, JSON.stringify({ v: 1, ...policy }), { mode: 0o644 });
}

/** What an honest agent brings while a job waits. */
export function bringState(world: JobWorld, job: string, members: object = {}): void {
  const state = world.fleet.agentState({ server_time: timestamp(NOW_MS + world.waitedMs), ...members });
  writeFileSync(join(job, JOB_FILES.state), JSON.stringify(state));
}

const ADA = (world: JobWorld) => world.host.logIn({ user: 'ada' });
const told = (...texts: string[]) => ({ calls: texts.map((text) => `wall Tidegate: ${text}`) });
const restartsIn = (minutes: number) =>
  `this host restarts in ${minutes} minutes (kernel update). Save your work.`;
const calledOff = (why: string) => `the restart of this host is called off: ${why}.`;

/** A reboot is a command alone: it ends the boot that it names, once, and only while nothing speaks against it. */
export const WRONG_REBOOTS: Attack[] = [
  {
    name: 'of another host',
    parts: () => rebooting({}, { command: { agent_id: randomUUID() } }),
    ...refusedBy('wrong_agent'),
  },
  {
    name: 'signed by a stranger',
    parts: () => rebooting({}, { signedBy: createKey(1) }),
    ...refusedBy('bad_signature'),
  },
  {
    name: 'signed by nobody',
    parts: () => rebooting({}, { envelope: (command) => ({ ...command, signatures: [] }) }),
    ...refusedBy('unsigned'),
  },
  {
    name: 'of another boot under the old signature',
    parts: () => rebooting({ boot_id: NEXT_BOOT_ID }),
    spoil: reEnveloped('command.json', (envelope) => {
      const text = payloadText(envelope).replace(NEXT_BOOT_ID, BOOT_ID);
      return { ...envelope, payload: Buffer.from(text).toString('base64') };
    }),
    ...refusedBy('bad_signature'),
  },
  {
    name: 'of a boot that has ended',
    parts: () => rebooting({ boot_id: NEXT_BOOT_ID }),
    ...{ agent: 'already_rebooted', executor: 'success', learns: 'accepted' },
  },
  {
    name: 'of no boot',
    parts: () => ({ command: { action: 'reboot', params: {}, approval: undefined } }),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'with a text that would be more than a line of the terminal',
    parts: () => rebooting({ cause: 'now\u001b[2J' }),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'with a warning of a day',
    parts: () => rebooting({ warn_minutes: 1_440 }),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'with a program to run',
    parts: () => rebooting({ program: '/bin/sh' }),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'after its end',
    parts: () => rebooting({}, { command: { expires_at: timestamp(NOW_MS - CLOCK_SKEW_MS) } }),
    ...refusedBy('expired'),
  },
  {
    name: 'once more, with the host in the boot that it named',
    before: async (world) => {
      world.host.comesUpAs(NEXT_BOOT_ID);
      await carryOut(world, rebooting({}, { commandId: REBOOT_ID }));
      world.host.setBootId(BOOT_ID);
      world.host.remove('calls');
    },
    parts: () => rebooting({}, { command: { command_id: REBOOT_ID } }),
    ...refusedBy('already_seen'),
  },
  {
    name: 'that was cancelled after it was delivered',
    parts: ({ fleet }) =>
      rebooting({}, { commandId: REBOOT_ID, state: fleet.agentState({ revoked_tokens: [REBOOT_ID] }) }),
    ...byState('taken_back'),
  },
  { name: 'without a state', parts: () => rebooting({}, { state: null }), ...byState('absent') },
  {
    name: 'on a host that is rebooted by hand',
    before: restrict({ reboot: 'never' }),
    parts: () => rebooting(),
    ...byHost('reboot_never'),
  },
  {
    name: 'outside the hours of the host',
    before: restrict({ hours: [{ days: ['mon'], from: '02:00', to: '04:00' }] }),
    parts: () => rebooting(),
    ...byHost('outside_hours'),
  },
  {
    name: 'of a container',
    before: ({ host }) => host.leave('.dockerenv', ''),
    parts: () => rebooting(),
    ...byExecutor('unsupported_host'),
  },
  {
    name: 'unwarned, with people at work',
    before: ADA,
    parts: () => rebooting(),
    ...byExecutor('reboot_blocked'),
  },
  {
    name: 'while a program inhibits it',
    before: ({ host }) => host.inhibit({ what: 'sleep:shutdown', who: 'backup', mode: 'block' }),
    parts: () => rebooting({ warn_minutes: 5 }),
    ...byExecutor('reboot_blocked'),
  },
  {
    name: 'while another job waits for the executor',
    before: ({ folder, fleet }) => {
      const other = makeJob(join(folder, 'spool'), randomUUID());
      const documents = { command: new Uint8Array(), approval: null, state: null };
      completeJob(other.folder, { ...documents, keySet: fleet.agentState() });
    },
    parts: () => rebooting(),
    ...byExecutor('reboot_blocked'),
  },
  {
    name: 'while logind says nothing',
    before: ({ host }) => host.remove('sessions'),
    parts: () => rebooting({ warn_minutes: 5 }),
    ...byExecutor('reboot_blocked'),
  },
  {
    name: 'whose end comes before that of its warning',
    before: ADA,
    parts: () =>
      rebooting({ warn_minutes: 10 }, { command: { expires_at: timestamp(NOW_MS + 5 * MINUTE_MS) } }),
    ...byExecutor('command_refused expired'),
  },
  {
    name: 'whose warning would end outside the hours of the host',
    before: (world) => {
      ADA(world);
      restrict({ hours: [{ days: ['sat'], from: '11:00', to: '12:05' }] })(world);
    },
    parts: () => rebooting({ warn_minutes: 10 }),
    ...byExecutor('host_policy outside_hours'),
  },
  {
    name: 'that expires during its warning, as the clock was put forward',
    before: ADA,
    parts: () =>
      rebooting({ warn_minutes: 5 }, { command: { expires_at: timestamp(NOW_MS + 10 * MINUTE_MS) } }),
    spoil: (job, world) => {
      world.onWait = (waitedMs) => {
        if (waitedMs === MINUTE_MS) world.waitedMs += 20 * MINUTE_MS;
        bringState(world, job);
      };
    },
    ...byExecutor('command_refused expired'),
    ...told(
      restartsIn(5),
      'this host restarts in 1 minute (kernel update). Save your work.',
      calledOff('its time is over'),
    ),
  },
  {
    name: 'that is cancelled during its warning',
    before: ADA,
    parts: () => rebooting({ warn_minutes: 5 }, { commandId: REBOOT_ID }),
    spoil: (job, world) => {
      world.onWait = (waitedMs) => {
        if (waitedMs === 2 * MINUTE_MS) bringState(world, job, { revoked_tokens: [REBOOT_ID] });
      };
    },
    ...byExecutor('state_refused taken_back'),
    ...told(restartsIn(5), calledOff('it was cancelled')),
  },
  {
    name: 'whose cancellation is withheld during its warning',
    before: ADA,
    parts: () => rebooting({ warn_minutes: 5 }),
    ...byExecutor('state_refused too_old'),
    ...told(
      restartsIn(5),
      'this host restarts in 1 minute (kernel update). Save your work.',
      calledOff('the server cannot be asked whether it still holds'),
    ),
  },
  {
    name: 'that root forbids during its warning',
    before: ADA,
    parts: () => rebooting({ warn_minutes: 2 }),
    spoil: (job, world) => {
      world.onWait = (waitedMs) => {
        if (waitedMs === MINUTE_MS) restrict({ reboot: 'never' })(world);
        bringState(world, job);
      };
    },
    ...byExecutor('host_policy reboot_never'),
    ...told(
      restartsIn(2),
      'this host restarts in 1 minute (kernel update). Save your work.',
      calledOff('its time is over'),
    ),
  },
  {
    name: 'of a host that has rebooted during the warning',
    before: ADA,
    parts: () => rebooting({ warn_minutes: 2 }),
    spoil: (job, world) => {
      world.onWait = (waitedMs) => {
        if (waitedMs === 90_000) world.host.setBootId(NEXT_BOOT_ID);
        bringState(world, job);
      };
    },
    ...byExecutor('success'),
    ...told(restartsIn(2), 'this host restarts in 1 minute (kernel update). Save your work.'),
  },
];

const STALE = ({ host }: JobWorld) =>
  host.observed(
    [
      { name: 'web.service', kind: 'service' },
      { name: 'dbus.service', kind: 'core' },
      { name: 'ssh.service', kind: 'session' },
    ],
    NOW_MS,
  );

/** Only services that root's observer saw running replaced files, by their names in systemd. */
export const WRONG_RESTARTS: Attack[] = [
  ...[
    ['an option of systemctl', '--now.service'],
    ['a path', '../../etc/cron.service'],
    ['two names', 'a.service b.service'],
    ['a pattern', '*.service'],
    ['a line more', 'web.service\n'],
    ['another kind of unit', 'reboot.target'],
    ['no text', 7],
  ].map(
    ([what, unit]): Attack => ({
      name: `of ${what}`,
      before: STALE,
      parts: () => restarting([unit]),
      ...refusedBy('invalid_payload'),
    }),
  ),
  { name: 'of nothing', parts: () => restarting([]), ...refusedBy('invalid_payload') },
  {
    name: 'of a unit twice',
    parts: () => restarting(['web.service', 'web.service']),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'of more units than one command may name',
    parts: () => restarting(Array.from({ length: RESTART_UNITS_MAX + 1 }, (_, n) => `a${n}.service`)),
    ...refusedBy('invalid_payload'),
  },
  {
    name: 'signed by a stranger',
    before: STALE,
    parts: () => restarting(['web.service'], { signedBy: createKey(1) }),
    ...refusedBy('bad_signature'),
  },
  {
    name: 'that was cancelled after it was delivered',
    before: STALE,
    parts: ({ fleet }) => {
      const state = fleet.agentState({ revoked_tokens: [REBOOT_ID] });
      return restarting(['web.service'], { commandId: REBOOT_ID, state });
    },
    ...byState('taken_back'),
  },
  {
    name: 'on a host whose services are restarted by hand',
    before: (world) => {
      STALE(world);
      restrict({ restart_services: 'never' })(world);
    },
    parts: () => restarting(['web.service']),
    ...byHost('restart_never'),
  },
  ...['dbus.service', 'systemd-logind.service', 'gdm.service', 'getty@tty1.service', 'user@1000.service'].map(
    (unit): Attack => ({
      name: `of ${unit}, with another`,
      before: STALE,
      parts: () => restarting(['web.service', unit]),
      ...byExecutor('core_service'),
    }),
  ),
  {
    name: 'of services that the observer has not seen',
    before: STALE,
    parts: () => restarting(['ssh.service', 'cron.service']),
    ...byExecutor('success'),
  },
  {
    name: 'without evidence',
    parts: () => restarting(['web.service']),
    ...byExecutor('evidence_missing'),
  },
  {
    name: 'with evidence of yesterday',
    before: ({ host }) =>
      host.observed([{ name: 'web.service', kind: 'service' }], NOW_MS - 24 * 60 * MINUTE_MS),
    parts: () => restarting(['web.service']),
    ...byExecutor('evidence_missing'),
  },
  {
    name: 'with evidence of another boot',
    before: (world) => {
      STALE(world);
      world.host.setBootId(NEXT_BOOT_ID);
    },
    parts: () => restarting(['web.service']),
    ...byExecutor('evidence_missing'),
  },
  {
    name: 'in a container',
    before: (world) => {
      STALE(world);
      world.host.leave('.dockerenv', '');
    },
    parts: () => restarting(['web.service']),
    ...byExecutor('unsupported_host'),
  },
];
