import { many } from '@tidegate/command-line/declare';
import { EXIT, type ExitCode, UsageError } from '@tidegate/terminal/read-args';
import { type CliWorld, declareCommand } from './command.ts';
import { KeyFault } from './key-context.ts';
import { addKeyCommand, resetKeysCommand, revokeKeyCommand, useKeyCommand } from './keys-change.ts';
import { listKeysCommand } from './keys-list.ts';
import { makeRootKeyCommand, signCommand } from './keys-offline.ts';
import { KEY_OPTIONS } from './keys-options.ts';
import { makeReleaseKeyCommand, signReleaseCommand, verifyReleaseCommand } from './keys-release.ts';
import { initRootCommand, installCommand, pendingCommand } from './keys-root.ts';

type Act = (args: readonly string[], world: CliWorld) => Promise<ExitCode>;

const ACTS: ReadonlyMap<string, Act> = new Map([
  ['list', listKeysCommand],
  ['add', addKeyCommand],
  ['use', useKeyCommand],
  ['revoke', revokeKeyCommand],
  ['pending', pendingCommand],
  ['reset', resetKeysCommand],
]);
const ROOT_ACTS: ReadonlyMap<string, Act> = new Map([
  ['make', makeRootKeyCommand],
  ['init', initRootCommand],
  ['sign', signCommand],
  ['install', installCommand],
]);
const RELEASE_ACTS: ReadonlyMap<string, Act> = new Map([
  ['make', makeReleaseKeyCommand],
  ['sign', signReleaseCommand],
  ['verify', verifyReleaseCommand],
]);
const GROUPS: ReadonlyMap<string, ReadonlyMap<string, Act>> = new Map([
  ['root', ROOT_ACTS],
  ['release', RELEASE_ACTS],
]);

export const keysCommand = declareCommand({
  name: 'keys',
  summary: 'signing keys: list, rotate, revoke, the offline root and release keys',
  calls: [
    { act: 'list', takes: ['json'] },
    { act: 'add', takes: ['private-key', 'public-key', 'json'] },
    { act: 'use', operands: ['VERSION'], takes: ['json'] },
    { act: 'revoke', operands: ['VERSION'], takes: ['force', 'json'] },
    { act: 'pending', needs: ['out'], takes: ['json'] },
    { act: 'reset', needs: ['every-host-is-enrolled-again'], takes: ['json'] },
    { act: 'root make', needs: ['out'], takes: ['json'] },
    { act: 'root init', needs: ['threshold', 'key', 'out'], takes: ['json'] },
    { act: 'root sign', operands: ['FILE'], needs: ['key'], takes: ['json'] },
    { act: 'root install', operands: ['FILE'], takes: ['json'] },
    { act: 'release make', needs: ['out'], takes: ['json'] },
    { act: 'release sign', operands: ['DIR'], needs: ['key'], takes: ['json'] },
    { act: 'release verify', operands: ['DIR'], needs: ['public-key'], takes: ['json'] },
  ],
  options: { ...KEY_OPTIONS, key: many(KEY_OPTIONS.key) },
  about: `To rotate: add, use, revoke. add makes a key and stores its private half in the data folder. With an offline root the new
key waits: pending writes the key set that the root's holders sign, and root install installs it. revoke is permanent.
reset is the last resort, when every private half is lost and there is no root.
release is for those who build Tidegate: sign signs the SHA256SUMS of a release, verify compares every file of one.
root make, root sign and release need no server: run them on an offline machine. Where a private key is read, FILE may be - for
the standard input; a key is never an argument.

The others work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server, which
follows within ten seconds.`,
  async run(args, world) {
    const { act, rest } = chooseAct(args);
    try {
      return await act(rest, world);
    } catch (error) {
      if (!(error instanceof KeyFault)) throw error;
      world.err(error.message);
      return EXIT.failed;
    }
  },
});

function chooseAct(args: readonly string[]): { act: Act; rest: readonly string[] } {
  const [first = '', second = ''] = args;
  const group = GROUPS.get(first);
  const acts = group ?? ACTS;
  const act = acts.get(group ? second : first);
  if (act) return { act, rest: args.slice(group ? 2 : 1) };
  const allowed = [...acts.keys(), ...(group ? [] : GROUPS.keys())].join(', ');
  throw new UsageError(`${group ? `keys ${first}` : 'keys'} needs one of: ${allowed}`);
}
