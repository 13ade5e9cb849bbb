import type { StaleService } from '@tidegate/protocol/restarts';

export interface UnitOfProcess {
  kind: StaleService['kind'];
  /** Null for a process outside any unit: it is named by its program. */
  unit: string | null;
}

/** systemd.unit(5): the characters of a unit's name, and its length. */
const UNIT = /^[A-Za-z0-9:_.\\@-]{1,255}\.(service|scope)$/;
/** Restarting one of these ends every session or the host's message bus (dnf5#2890, needrestart's list). */
const CORE =
  /^(init\.scope|dbus(-broker)?\.service|(systemd-|e)logind\.service|(gdm3?|kdm|lightdm|lxdm|nodm|sddm|slim|wdm|xdm|display-manager)\.service)$/;

/** Whether restarting a unit by itself would take the host down. */
export function isCoreUnit(unit: string): boolean {
  return CORE.test(unit);
}

/** The unit of a process, from its `/proc/<pid>/cgroup` (cgroups(7)): the text is read with suspicion. */
export function unitOf(cgroup: string): UnitOfProcess {
  const parts = pathOf(cgroup)
    .split('/')
    .filter((part) => part !== '');
  const isOfUser = parts.some((part) => /^user-\d+\.slice$/.test(part));
  const unit = parts.find((part) => UNIT.test(part)) ?? null;
  if (unit === null) return { kind: 'other', unit };
  if (isOfUser) return { kind: 'session', unit };
  return { kind: isCoreUnit(unit) ? 'core' : 'service', unit };
}

/** systemd's own hierarchy where there are several (version 1), else the only one (version 2). */
function pathOf(cgroup: string): string {
  let unified = '';
  let systemd = '';
  for (const line of cgroup.split('\n')) {
    const [, hierarchy, controllers, path = ''] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (hierarchy === '0') unified = path;
    else if (controllers === 'name=systemd') systemd = path;
  }
  return systemd === '' || systemd === '/' ? unified : systemd;
}
