/** A unit as `systemctl show` has it. */
export interface UnitState {
  active: string;
  /** New with each start of the unit; empty where it never ran. */
  invocation: string;
}

/** Null when the answer is none. */
export function parseUnitState(text: string): UnitState | null {
  const active = /^ActiveState=(.+)$/m.exec(text)?.[1];
  const invocation = /^InvocationID=(.*)$/m.exec(text)?.[1];
  return active === undefined || invocation === undefined ? null : { active, invocation };
}

/** Why a unit was not restarted, as a sentence; null when it was: it runs, and it is another run than before. */
export function unrestarted(before: UnitState, after: UnitState): string | null {
  if (before.active !== 'active') return `it was ${before.active}, and is left as it is`;
  if (after.active !== 'active') return `it is ${after.active} after the restart`;
  return after.invocation === before.invocation ? 'it is the same run as before' : null;
}

/** Logins on a console end with these, and the host's way up and down hangs on them. */
const NEVER =
  /^((serial-|console-|container-)?getty@.*|user@\d+|user-runtime-dir@\d+|emergency|rescue|plymouth.*|tidegate-executor|tidegate-observer)\.service$/;

/** Whether a unit is never restarted by a command, besides the core ones that need a reboot. */
export function isNeverRestarted(unit: string): boolean {
  return NEVER.test(unit);
}
