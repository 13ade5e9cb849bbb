import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const SOURCES = fileURLToPath(new URL('.', import.meta.url));

const VERSIONS = 'root’s folders, which `secureFolder` judged';

/**
 * Calls that act on whatever a path leads to by now, and the files that may make them. Where another user can write,
 * root acts by descriptors alone (decision 0016).
 */
const RULES: { call: RegExp; allowed: Record<string, string> }[] = [
  {
    call: /(?<![\w.])l?chown(Sync)?\(/,
    allowed: {
      'ecosystems/folder-ownership.ts': 'transfers folders; this process keeps their parent',
      'ecosystems/pypi/shadow.ts': 'a new file in a folder of its own',
    },
  },
  {
    call: /(?<![\w.])chmod(Sync)?\(/,
    allowed: {
      'platform/file-layer.ts': 'takes a descriptor',
      'ecosystems/apt/session.ts': 'a folder of its own',
      'ecosystems/dnf/session.ts': 'a folder of its own',
      'ecosystems/npm/session.ts': 'a folder of its own',
      'ecosystems/pypi/shadow.ts': 'a folder of its own',
      'ecosystems/pypi/undo.ts': 'in the folder of the shadow, which this process alone changes',
      'executor/apt.ts': 'the stage',
      'jobs/executor-state.ts': 'the executor’s folder',
      'executor/live-output.ts': 'the executor’s folder',
      'executor/pypi.ts': 'a folder of its own',
      'executor/agent-versions.ts': VERSIONS,
      'executor/lay-versions.ts': VERSIONS,
    },
  },
  {
    call: /(?<![\w.])rm(Sync)?\([^;]*recursive: true/,
    allowed: {
      'ecosystems/apt/session.ts': 'after what was given away has gone',
      'ecosystems/dnf/session.ts': 'after what was given away has gone',
      'ecosystems/npm/session.ts': 'after what was given away has gone',
      'ecosystems/pypi/shadow.ts': 'after what was given away has gone',
      'ecosystems/apt/signers.ts': 'a folder of this process alone',
      'ecosystems/npm/fetch.ts': 'a folder of this process alone',
      'ecosystems/npm/undo.ts': 'a folder of this process alone',
      'commands/keep-way-back.ts': 'after what was given away has gone',
      'ecosystems/kept-files.ts': 'the agent’s own store, which no other can change',
      'executor/execute.ts': 'the stage',
      'executor/agent-versions.ts': VERSIONS,
      'executor/lay-versions.ts': VERSIONS,
      'jobs/job-folder.ts': 'the agent’s own spool, as its own user',
    },
  },
  {
    call: /(?<![\w.])rename(Sync)?\(/,
    allowed: {
      'platform/file-layer.ts': 'a file that was just made, in the folder of whoever writes it',
      'executor/spool.ts': 'by the descriptor of the spool, or the spool itself in root’s folder',
      'executor/agent-versions.ts': VERSIONS,
      'executor/lay-versions.ts': VERSIONS,
    },
  },
];

/** The rules that a source breaks, by the call. */
function findFaults(file: string, text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  return RULES.flatMap(({ call, allowed }) => {
    const found = call.exec(code);
    return found === null || file in allowed ? [] : [`${file}: ${found[0]}`];
  });
}

const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !/\.test\.ts$|^testing\//.test(file),
);

test('no other source of the agent gives, opens up, moves or removes by a path', () => {
  expect(files.length).toBeGreaterThan(100);
  expect(files.flatMap((file) => findFaults(file, readFileSync(join(SOURCES, file), 'utf8')))).toEqual([]);
});

test('each exception is still one', () => {
  const unused = RULES.flatMap(({ call, allowed }) =>
    Object.keys(allowed).filter((file) => !call.test(readFileSync(join(SOURCES, file), 'utf8'))),
  );
  expect(unused).toEqual([]);
});

test.each([
  'if (existsSync(path)) chownSync(path, user.uid, user.gid);',
  'await chown(directory, identity.uid, identity.gid);',
  'chmodSync(folder, 0o755);',
  'await rm(join(directory, name), { recursive: true, force: true });',
  'renameSync(from, to);',
])('the check sees %s', (line) => {
  expect(findFaults('enrol.ts', line)).toHaveLength(1);
});
