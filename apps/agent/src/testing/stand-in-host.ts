import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { StaleService } from '@tidegate/protocol/restarts';
import { type HostControl, systemdControl } from '../reboots/host-control.ts';
import { writeServiceFile } from '../restarts/service-file.ts';

/** The boot that a stand-in host begins with. */
export const BOOT_ID = '0b9d0a4c-5f35-4ab5-9a6c-6b2f0a1c0001';
export const NEXT_BOOT_ID = '0b9d0a4c-5f35-4ab5-9a6c-6b2f0a1c0002';

/** Programs that write down how they were called, and answer what a test left for them. */
const PROGRAMS = {
  busctl: `case "$*" in
*ListSessions) cat "$host/sessions" ;;
*ListInhibitors) cat "$host/inhibitors" ;;
get-property*) cat "$host/session.$(basename "$3")" ;;
esac`,
  who: 'cat "$host/who"',
  wall: 'printf "wall %s\\n" "$*" >> "$host/calls"; test ! -e "$host/wall-fails"',
  systemctl: `case "$1" in
show) cat "$host/unit.$4" ;;
try-restart) printf "systemctl %s\\n" "$*" >> "$host/calls"
  test -e "$host/restarted.$3" && mv "$host/restarted.$3" "$host/unit.$3" ;;
restart) printf "systemctl %s\\n" "$*" >> "$host/calls"
  test ! -e "$host/restart-fails" || { echo "refused by systemd" >&2; exit 1; } ;;
reboot) printf "systemctl %s\\n" "$*" >> "$host/calls"
  test -e "$host/reboot-fails" && { echo "refused by logind" >&2; exit 1; }
  test ! -e "$host/next-boot" || cp "$host/next-boot" "$host/proc/sys/kernel/random/boot_id" ;;
esac`,
};

/** A host below a folder: its boot id, its logins, and programs in place of those of systemd. */
export interface StandInHost {
  root: string;
  control: HostControl;
  serviceFile: string;
  /** Calls of wall, and of systemctl but `show`, in order. */
  calls(): string[];
  setBootId(id: string): void;
  /** Whether the host comes up again as soon as it is told to end its boot. */
  comesUpAs(id: string | null): void;
  /** Logged-in users; `kind` is a class of logind. */
  logIn(...users: { user: string; kind?: string; state?: string }[]): void;
  inhibit(...inhibitors: { what: string; who: string; mode: string }[]): void;
  leave(name: string, text: string): void;
  remove(name: string): void;
  /** What root's observer saw. */
  observed(services: readonly { name: string; kind: StaleService['kind'] }[], atMs: number): void;
  /** How a unit is, and how it is after a restart; null: a restart changes nothing. */
  unit(name: string, now: UnitText, restarted: UnitText | null): void;
}

type UnitText = { active: string; invocation: string };

export function createStandInHost(folder: string): StandInHost {
  const root = join(folder, 'host');
  const place = (path: string) => join(root, path);
  const leave = (name: string, text: string) => writeFileSync(place(name), text);
  for (const path of ['usr/bin', 'run/systemd/system', 'proc/sys/kernel/random', 'observer']) {
    mkdirSync(place(path), { recursive: true });
  }
  for (const [name, script] of Object.entries(PROGRAMS)) {
    leave(join('usr/bin', name), `#!/bin/sh\nhost='${root}'\n${script}\n`);
    chmodSync(place(join('usr/bin', name)), 0o755);
  }
  const serviceFile = place('observer/services.json');
  const setBootId = (id: string) => leave('proc/sys/kernel/random/boot_id', `${id}\n`);
  const textOf = ({ active, invocation }: UnitText) => `ActiveState=${active}\nInvocationID=${invocation}\n`;
  const host: StandInHost = {
    root,
    control: systemdControl(root),
    serviceFile,
    calls: () =>
      existsSync(place('calls')) ? readFileSync(place('calls'), 'utf8').trimEnd().split('\n') : [],
    setBootId,
    comesUpAs: (id) =>
      id === null ? rmSync(place('next-boot'), { force: true }) : leave('next-boot', `${id}\n`),
    logIn: (...users) => {
      const rows = users.map(({ user }, n) => `"${n}" 1000 "${user}" "seat0" "/session/${n}"`);
      leave('sessions', `a(susso) ${rows.length} ${rows.join(' ')}\n`);
      for (const [n, { kind = 'user', state = 'active' }] of users.entries()) {
        leave(`session.${n}`, `s "${kind}"\ns "${state}"\n`);
      }
    },
    inhibit: (...inhibitors) => {
      const rows = inhibitors.map(({ what, who, mode }) => `"${what}" "${who}" "a reason" "${mode}" 0 42`);
      leave('inhibitors', `a(ssssuu) ${rows.length} ${rows.join(' ')}\n`);
    },
    leave,
    remove: (name) => rmSync(place(name), { force: true }),
    observed: (services, atMs) =>
      writeServiceFile(serviceFile, {
        ...{
          v: 1,
          observed_at: new Date(atMs).toISOString(),
          boot_id: BOOT_ID,
          cannot: null,
          more_services: 0,
        },
        stale: services.map((service) => ({
          ...{ ...service, processes: 1, files: [{ path: '/usr/lib/libx.so' }], more_files: 0 },
        })),
      }),
    unit: (name, now, restarted) => {
      leave(`unit.${name}`, textOf(now));
      if (restarted !== null) leave(`restarted.${name}`, textOf(restarted));
    },
  };
  setBootId(BOOT_ID);
  host.logIn();
  host.inhibit();
  leave('who', '');
  return host;
}
