import { runProgram } from '../platform/run-program.ts';
import { isBootedWithSystemd } from '../platform/systemd-unit.ts';
import { doubtful, type Finding, faulty } from './finding.ts';
import { AGENT_UNITS, judgeUnits, parseUnits } from './unit-rules.ts';

const ASK_MAX_MS = 10_000;
const OUTPUT_MAX_BYTES = 64 * 1024;

/** The states of the agent's units; a host without systemd is told what takes its place. */
export async function examineUnits({
  root,
  systemctl,
}: {
  root: string;
  systemctl: string;
}): Promise<Finding[]> {
  if (!isBootedWithSystemd(root)) return [withoutSystemd()];
  const args = ['show', '--property=Id,LoadState,ActiveState,UnitFileState', '--', ...AGENT_UNITS];
  const limits = { timeoutMs: ASK_MAX_MS, maxOutputBytes: OUTPUT_MAX_BYTES };
  const asked = await runProgram({ program: systemctl, args, ...limits });
  if (!asked.ok) return [faulty('units', `systemd cannot be asked (${asked.detail}): run this as root`)];
  return judgeUnits(parseUnits(asked.stdout));
}

export function withoutSystemd(): Finding {
  return doubtful(
    'units',
    'this host was not booted with systemd: something else has to start "tidegate-agent run" as root, and keep it running',
  );
}
