import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Artifact, PlanAction } from '@tidegate/protocol/plan';
import { READY_MARK } from '../../jobs/job-folder.ts';
import { FILE, FILE_BYTES, type JobParts, type JobWorld } from '../job-world.ts';
import type { Attack } from './attack.ts';

const artifact = (job: string) => join(job, 'artifacts', FILE);
const replaced = (put: (path: string, world: JobWorld) => void) => (job: string, world: JobWorld) => {
  rmSync(artifact(job));
  put(artifact(job), world);
};

/** The approval with one artifact described otherwise; signed, and the command refers to it. */
const described =
  (change: (artifact: Artifact) => Partial<Artifact>, without?: 'sha256') =>
  ({ action }: JobWorld): JobParts => {
    const { artifact: good } = action;
    if (good === undefined) throw new Error('the update has no artifact');
    const changed = { ...good, ...change(good) };
    if (without !== undefined) delete changed[without];
    return { approval: { actions: [{ ...action, artifact: changed }] } };
  };
/** The approval of an npm package, with a second one that says to come in the file of the first. */
const bundled =
  (change: Partial<PlanAction>, other: Partial<Artifact> = {}) =>
  ({ action }: JobWorld): JobParts => {
    if (action.artifact === undefined) throw new Error('the update has no artifact');
    const inner: PlanAction = {
      ...{ action: 'install', name: 'inner', arch: '/p//node_modules/inner', to_version: '1.0.0' },
      ...{ source_name: action.name, source_version: action.to_version ?? '' },
      artifact: { ...action.artifact, ...other },
      ...change,
    };
    return { approval: { ecosystem: 'npm', actions: [action, inner] } };
  };
const unsound = { agent: 'approval unsound_plan', executor: 'approval_refused unsound_plan' };
const malformed = { agent: 'approval malformed', executor: 'approval_refused malformed' };

/** What a token says of files (A4). */
export const ODD_TOKENS: Attack[] = [
  {
    name: 'a digest in capitals',
    parts: described(({ sha256 = '' }) => ({ sha256: sha256.toUpperCase() })),
    ...malformed,
  },
  { name: 'no digest at all', parts: described(() => ({}), 'sha256'), ...unsound },
  { name: 'a size below nothing', parts: described(() => ({ size_bytes: -1 })), ...malformed },
  {
    name: 'a file name that leads out of the folder',
    parts: described(() => ({ filename: '../x' })),
    ...malformed,
  },
  { name: 'an absolute file name', parts: described(() => ({ filename: '/etc/passwd' })), ...malformed },
  { name: 'the folder above as a file name', parts: described(() => ({ filename: '..' })), ...unsound },
  { name: 'a back slash in a file name', parts: described(() => ({ filename: '..\\x' })), ...unsound },
  { name: 'a line break in a file name', parts: described(() => ({ filename: 'a\nb' })), ...malformed },
  {
    name: 'one file for two packages',
    parts: ({ action }) => ({ approval: { actions: [action, { ...action, name: 'other' }] } }),
    ...unsound,
  },
  {
    name: 'one file name for two hashes',
    parts: bundled({}, { sha256: 'b'.repeat(64) }),
    ...unsound,
  },
  {
    name: 'one file name for a hash of one kind, and of two kinds',
    parts: bundled({}, { sha512: 'b'.repeat(128) }),
    ...unsound,
  },
  { name: 'one file name for two sizes', parts: bundled({}, { size_bytes: 7 }), ...unsound },
  { name: 'one file name for two addresses', parts: bundled({}, { url: 'https://r.test/x' }), ...unsound },
  {
    name: 'a package that is bundled in one that is not there',
    parts: bundled({ source_name: 'absent' }),
    ...unsound,
  },
  {
    name: 'a package that is bundled in another version',
    parts: bundled({ source_version: '1.9' }),
    ...unsound,
  },
  {
    name: 'a package that is bundled in a file of its own',
    parts: bundled({}, { filename: 'inner.tgz' }),
    ...unsound,
  },
  {
    name: 'one file for two packages of npm of which none is bundled',
    parts: ({ action }) => ({
      approval: { ecosystem: 'npm', actions: [action, { ...action, name: 'other' }] },
    }),
    ...unsound,
  },
  {
    name: 'one package twice',
    parts: ({ action }) => ({
      approval: { actions: [action, { action: 'remove', name: action.name, from_version: '1.0' }] },
    }),
    ...unsound,
  },
  {
    name: 'a removal that brings a file',
    parts: ({ action }) => ({
      approval: { actions: [action, { ...action, action: 'remove', name: 'other' }] },
    }),
    ...unsound,
  },
  {
    name: 'a right sha256 beside a wrong sha512',
    parts: described(() => ({ sha512: 'a'.repeat(128) })),
    agent: 'artifact_mismatch',
    executor: 'artifact_hash_differs',
    learns: 'accepted',
  },
  {
    name: 'a wrong sha512 alone',
    parts: described(() => ({ sha512: 'a'.repeat(128) }), 'sha256'),
    agent: 'artifact_mismatch',
    executor: 'artifact_hash_differs',
    learns: 'accepted',
  },
];

/** What lies in the job folder: the user of the agent can write there, also while the executor reads. */
export const ODD_ARTIFACTS: Attack[] = [
  {
    name: 'a longer file',
    spoil: (job) => writeFileSync(artifact(job), 'x', { flag: 'a' }),
    agent: 'artifact_mismatch',
    executor: 'artifact_size_differs',
    learns: 'accepted',
  },
  {
    name: 'a shorter file',
    spoil: (job) => writeFileSync(artifact(job), FILE_BYTES.subarray(1)),
    agent: 'artifact_mismatch',
    executor: 'artifact_size_differs',
    learns: 'accepted',
  },
  {
    name: 'a missing file',
    spoil: (job) => rmSync(artifact(job)),
    agent: 'ok', // whether apt has it elsewhere, it leaves to the executor
    executor: 'artifact_missing',
    learns: 'accepted',
  },
  {
    name: 'a file too many',
    spoil: (job) => writeFileSync(join(job, 'artifacts', 'stowaway.deb'), ''),
    agent: 'ok',
    executor: 'artifact_extra',
    learns: 'accepted',
  },
  {
    name: 'a link to the right content',
    spoil: replaced((path, { folder }) => {
      writeFileSync(join(folder, 'elsewhere'), FILE_BYTES);
      symlinkSync(join(folder, 'elsewhere'), path);
    }),
    agent: 'artifact_mismatch',
    executor: 'artifact_not_a_file',
    learns: 'accepted',
  },
  {
    name: 'a second name of a file of the executor',
    spoil: replaced((path, { stateFolder }) => linkSync(join(stateFolder, 'state.json'), path)),
    agent: 'artifact_mismatch',
    executor: 'artifact_size_differs',
    learns: 'accepted',
  },
  {
    name: 'a pipe',
    spoil: replaced((path) => execFileSync('mkfifo', [path])),
    agent: 'artifact_mismatch',
    executor: 'artifact_not_a_file',
    learns: 'accepted',
  },
  {
    name: 'a folder of that name',
    spoil: replaced((path) => mkdirSync(path)),
    agent: 'artifact_mismatch',
    executor: 'artifact_not_a_file',
    learns: 'accepted',
  },
  {
    name: 'a link in the place of the artifacts',
    spoil: (job, { folder }) => {
      renameSync(join(job, 'artifacts'), join(folder, 'elsewhere'));
      symlinkSync(join(folder, 'elsewhere'), join(job, 'artifacts'));
    },
    agent: 'ok',
    executor: 'artifact_missing',
    learns: 'accepted',
  },
  {
    name: 'a link in the place of the command',
    spoil: (job, { folder }) => {
      renameSync(join(job, 'command.json'), join(folder, 'elsewhere'));
      symlinkSync(join(folder, 'elsewhere'), join(job, 'command.json'));
    },
    agent: 'ok',
    executor: 'job_unreadable',
  },
  {
    name: 'a pipe in the place of the approval',
    spoil: (job) => {
      rmSync(join(job, 'approval.json'));
      execFileSync('mkfifo', [join(job, 'approval.json')]);
    },
    agent: 'approval malformed_envelope',
    executor: 'job_unreadable',
  },
  {
    name: 'a folder in the place of the mark',
    spoil: (job) => {
      rmSync(join(job, READY_MARK));
      mkdirSync(join(job, READY_MARK));
    },
    agent: 'ok',
    executor: 'job_unreadable',
  },
  {
    name: 'a link in the place of the mark',
    spoil: (job) => {
      rmSync(join(job, READY_MARK));
      symlinkSync('/nowhere', join(job, READY_MARK));
    },
    agent: 'ok',
    executor: 'job_unreadable',
  },
  {
    name: 'a pipe in the place of the mark',
    spoil: (job) => {
      rmSync(join(job, READY_MARK));
      execFileSync('mkfifo', [join(job, READY_MARK)]);
    },
    agent: 'ok',
    executor: 'job_unreadable',
  },
];

const drift = (change: (world: JobWorld) => JobWorld['simulated']) => ({
  before: (world: JobWorld) => {
    world.simulated = change(world);
  },
  agent: 'ok',
  executor: 'plan_drift',
  learns: 'accepted' as const,
});

/** The transaction would be another than the approved one. */
export const DRIFTED: Attack[] = [
  {
    name: 'a downgrade where an upgrade was approved',
    ...drift(({ action }) => [{ ...action, action: 'downgrade' }]),
  },
  {
    name: 'a version below the approved one',
    ...drift(({ action }) => [{ ...action, to_version: '1.9' }]),
  },
  {
    name: 'a removal that is not in the plan',
    ...drift(({ action }) => [action, { action: 'remove', name: 'libc6', from_version: '2.36' }]),
  },
  {
    name: 'an installation that is not in the plan',
    ...drift(({ action }) => [action, { ...action, action: 'install', name: 'stowaway' }]),
  },
  { name: 'less than was approved', ...drift(() => []) },
  {
    name: 'another architecture',
    ...drift(({ action }) => [{ ...action, arch: 'i386' }]),
  },
];
