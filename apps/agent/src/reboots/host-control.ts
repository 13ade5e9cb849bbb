import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findAptPlaces, isLocked } from '../ecosystems/apt/installed.ts';
import { findDnfPlaces, isDnfHost } from '../ecosystems/dnf/places.ts';
import type { HostPaths } from '../ecosystems/ecosystem.ts';
import { findContainer } from '../identity/container.ts';
import { readBootId } from '../platform/boot-id.ts';
import { isAnyLocked } from '../platform/find-lock.ts';
import { type ProgramResult, runProgram } from '../platform/run-program.ts';
import { isBootedWithSystemd } from '../platform/systemd-unit.ts';
import { unitOf } from '../restarts/unit-rules.ts';
import type { HostBusy } from './blocker-rules.ts';
import { parseInhibitors, parseSession, parseSessions, parseWho } from './logind-rules.ts';
import { parseUnitState, type UnitState } from './unit-state.ts';

const ASK = { timeoutMs: 30_000, maxOutputBytes: 1024 * 1024 };
/** Longest stop and start of one service. */
const RESTART_TIMEOUT_MS = 5 * 60_000;
/** Sessions that are asked what they are; those beyond count as people. */
const SESSIONS_MAX = 50;
const LOGIND = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];

/** What root can see and do of the running host, besides its packages. */
export interface HostControl {
  /** Why commands to this host's boot and services make no sense; null where they do. */
  cannot(): string | null;
  bootId(): string;
  /** Who and what would be disturbed by a reboot. */
  findBusy(paths: HostPaths): Promise<Omit<HostBusy, 'hasOtherJob'>>;
  /** Tells every logged-in user; null when it was told, else why not. */
  tell(text: string): Promise<string | null>;
  /** Ends this boot. Returns when systemd has begun to, or has refused. */
  reboot(options: { despiteInhibitors: boolean }): Promise<ProgramResult>;
  /** The unit that this process runs in. */
  ownUnit(): string | null;
  showUnit(unit: string): Promise<UnitState | null>;
  /** Restarts a unit that runs, and starts none that does not. */
  restartUnit(unit: string): Promise<ProgramResult>;
  /** Restarts a unit, or starts it where it does not run. */
  startAgain(unit: string): Promise<ProgramResult>;
}

/** A host with systemd. `root` is `/` except in tests, which put their stand-ins for its programs below it. */
export function systemdControl(root = '/'): HostControl {
  const programOf = (name: string) => (root === '/' ? name : join(root, 'usr/bin', name));
  const ask = (name: string, args: readonly string[], limits = ASK) =>
    runProgram({ program: programOf(name), args, ...limits });

  async function findPeople(): Promise<HostBusy['people']> {
    const listed = await ask('busctl', ['call', ...LOGIND, 'ListSessions']);
    const sessions = listed.ok ? parseSessions(listed.stdout) : null;
    if (sessions === null) return { unknown: 'logind does not say who is logged in' };
    const people = new Set(sessions.slice(SESSIONS_MAX).map(({ user }) => user));
    const others = new Set<string>();
    for (const { path, user } of sessions.slice(0, SESSIONS_MAX)) {
      const properties = ['org.freedesktop.login1.Session', 'Class', 'State'];
      const shown = await ask('busctl', ['get-property', 'org.freedesktop.login1', path, ...properties]);
      // A session that ended meanwhile has no properties: the next look tells.
      const kind = shown.ok ? parseSession(shown.stdout) : 'person';
      if (kind === null) return { unknown: 'logind does not say what a session is' };
      (kind === 'person' ? people : others).add(user);
    }
    const told = await ask('who', []);
    for (const user of told.ok ? parseWho(told.stdout) : []) if (!others.has(user)) people.add(user);
    return [...people].sort();
  }

  async function findInhibitors(): Promise<HostBusy['inhibitors']> {
    const listed = await ask('busctl', ['call', ...LOGIND, 'ListInhibitors']);
    const inhibitors = listed.ok ? parseInhibitors(listed.stdout) : null;
    return inhibitors ?? { unknown: 'logind does not say what inhibits a shutdown' };
  }

  return {
    cannot: () => {
      const container = findContainer(root);
      if (container !== null) return `this is a container (${container}): its host decides when it restarts`;
      return isBootedWithSystemd(root) ? null : 'this host was not booted with systemd';
    },
    bootId: () => readBootId(root),
    findBusy: async (paths) => ({
      people: await findPeople(),
      inhibitors: await findInhibitors(),
      packageManagers: await findPackageManagers(paths),
    }),
    tell: async (text) => {
      const told = await ask('wall', [text]);
      return told.ok ? null : told.detail;
    },
    reboot: ({ despiteInhibitors }) =>
      // The one line at which a host goes down.
      ask('systemctl', ['reboot', '--no-wall', ...(despiteInhibitors ? ['--ignore-inhibitors'] : [])]),
    ownUnit: () => unitOf(readFileSync('/proc/self/cgroup', 'utf8')).unit,
    showUnit: async (unit) => {
      const shown = await ask('systemctl', ['show', '--property=ActiveState,InvocationID', '--', unit]);
      return shown.ok ? parseUnitState(shown.stdout) : null;
    },
    restartUnit: (unit) =>
      ask('systemctl', ['try-restart', '--', unit], { ...ASK, timeoutMs: RESTART_TIMEOUT_MS }),
    startAgain: (unit) =>
      ask('systemctl', ['restart', '--', unit], { ...ASK, timeoutMs: RESTART_TIMEOUT_MS }),
  };
}

/** Those whose lock another program has now. */
async function findPackageManagers(paths: HostPaths): Promise<string[]> {
  const busy: string[] = [];
  const apt = await findAptPlaces(paths);
  if (apt.ok && (await isLocked(apt.value))) busy.push('dpkg');
  const dnf = (await isDnfHost(paths)) ? await findDnfPlaces(paths) : null;
  if (dnf?.ok && (await isAnyLocked([join(dnf.value.database, '.rpm.lock')]))) busy.push('rpm');
  return busy;
}
