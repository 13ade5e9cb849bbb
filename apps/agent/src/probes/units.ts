import { runProgram } from '../platform/run-program.ts';
import { red, type Seen, unknown } from './seen.ts';

/** Where systemd's tool is, in the folders of programs. */
export const SYSTEMCTL = 'systemctl';
/** Failed units that are remembered and named; a host with more is unknown. */
export const FAILED_UNITS_MAX = 500;
const LIST_MAX_MS = 20_000;
const OUTPUT_MAX_BYTES = 512 * 1024;
const UNIT_NAME = /^[^\s\p{C}]{1,255}$/u;

/** What systemd says about its units. */
export interface Units {
  isActive(unit: string, timeoutMs: number): Promise<Seen>;
  /** Whether a unit failed that had not before the last installation. */
  newlyFailed(): Promise<Seen>;
  /** All that have failed; null when systemd cannot be asked. */
  failed(): Promise<readonly string[] | null>;
}

/**
 * Asks systemd. `before`: the units that had failed when the last installation began; null before the first, when nothing
 * can have failed since.
 */
export function createUnits(options: { systemctl: string; before: readonly string[] | null }): Units {
  const { systemctl, before } = options;
  let list: Promise<readonly string[] | null> | null = null;

  const failed = () => {
    list ??= listFailed(systemctl);
    return list;
  };
  return {
    failed,
    async isActive(unit, timeoutMs) {
      const args = ['show', '--property=LoadState,ActiveState', '--', unit];
      const asked = await runProgram({ program: systemctl, args, timeoutMs, maxOutputBytes: 4 * 1024 });
      if (!asked.ok) return unknown(`systemd cannot be asked: ${asked.detail}`);
      const of = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(asked.stdout)?.[1];
      const active = of('ActiveState');
      if (active === undefined) return unknown('systemd does not say whether it is active');
      // A unit that reloads its configuration goes on working.
      if (active === 'active' || active === 'reloading') return { state: 'green' };
      return red(of('LoadState') === 'not-found' ? `there is no unit ${unit}` : `${unit} is ${active}`);
    },
    async newlyFailed() {
      const now = await failed();
      if (now === null) return unknown('systemd cannot be asked for its failed units');
      const news = before === null ? [] : now.filter((unit) => !before.includes(unit));
      if (news.length === 0) return { state: 'green' };
      return red(`failed since the last installation: ${news.slice(0, 5).join(', ')}`);
    },
  };
}

async function listFailed(systemctl: string): Promise<readonly string[] | null> {
  const args = ['list-units', '--state=failed', '--all', '--plain', '--full', '--no-legend', '--no-pager'];
  const asked = await runProgram({
    ...{ program: systemctl, args, timeoutMs: LIST_MAX_MS, maxOutputBytes: OUTPUT_MAX_BYTES },
  });
  if (!asked.ok) return null;
  const lines = asked.stdout.split('\n').filter((line) => line.trim() !== '');
  const units = lines.map((line) => line.trim().split(/\s+/)[0] ?? '');
  return units.length <= FAILED_UNITS_MAX && units.every((unit) => UNIT_NAME.test(unit)) ? units : null;
}
