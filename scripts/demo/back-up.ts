import { backupCommand } from '../../apps/server/src/cli/backup.ts';
import { systemRandom } from '../../apps/server/src/platform/ids.ts';

/** What the timer of the packages does each night: `tidegate backup`, beside the server. */
export async function backUp(
  dataDir: string,
  { env, now }: { env: Readonly<Record<string, string>>; now: () => number },
): Promise<void> {
  const said: string[] = [];
  const say = (text: string) => void said.push(text);
  const code = await backupCommand.run(['--keep', '2'], {
    ...{ env: { ...env, SERVICE_DATA_DIR: dataDir }, now, random: systemRandom },
    ...{ out: say, err: say, isTerminal: false, stdin: (async function* () {})() },
  });
  if (code !== 0) throw new Error(`the backup failed: ${said.join('\n')}`);
}
