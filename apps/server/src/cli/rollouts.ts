import { flag, text } from '@tidegate/command-line/declare';
import type { RollbackAnswer } from '@tidegate/protocol/rollbacks';
import type { RingRollbackAnswer, RolloutDetail, RolloutRing } from '@tidegate/protocol/rollouts-api';
import { writtenText } from '@tidegate/protocol/scalars';
import { ROLLOUTS } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { Check } from 'typebox/value';
import type { Tx } from '../platform/db/engine.ts';
import {
  type Act,
  approveRing,
  cancelRollout,
  expediteRollout,
  resumeRollout,
} from '../rollout-runs/change-rollout.ts';
import { haltRollout } from '../rollout-runs/halt-rollout.ts';
import { rollBackRing } from '../rollout-runs/roll-back-ring.ts';
import { type RingedRollout, rolloutDetail, rolloutItem, withRings } from '../rollout-runs/rollout-view.ts';
import { hosts as hostsText } from '../rollouts/gate-rules.ts';
import { findRollout, listRollouts, type RolloutRow } from '../rollouts/store.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { rollbackAuthor, rollbackText } from './rollback.ts';
import { showList } from './show-list.ts';

/** Every change is an event with this actor. */
const ACTOR = 'cli';
/** The newest are shown. */
const SHOWN_MAX = 100;
const Reason = writtenText(1_000);

const OPTIONS = {
  reason: text('TEXT', 'why'),
  ring: text('NUMBER', 'the ring, counted from 0 (show says which)'),
  author: text('OPERATOR', 'an approver or admin of the whole fleet'),
  'dry-run': flag('say what would change, and change nothing'),
  all: flag('also the newest of those that have ended'),
  json: flag('the result as JSON'),
};

export const rolloutsCommand = declareCommand({
  name: 'rollouts',
  summary:
    'waves of versions through the rings of policies: list, show, halt, resume, cancel, emergency, approve, rollback',
  calls: [
    { act: 'list', takes: ['all', 'json'] },
    { act: 'show', operands: ['ID'], takes: ['json'] },
    ...['halt', 'resume', 'cancel', 'emergency'].map((act) => ({
      ...{ act, operands: ['ID'], needs: ['reason'], takes: ['json'] },
    })),
    { act: 'approve', operands: ['ID'], needs: ['ring'], takes: ['json'] },
    {
      ...{ act: 'rollback', operands: ['ID'], needs: ['ring', 'author', 'reason'] },
      takes: ['dry-run', 'json'],
    },
  ],
  options: OPTIONS,
  about: `  list       the rollouts that have not ended, each with what it waits for
  show       the rings of one: its hosts by outcome, and what its gate has and wants
  halt       nothing more is approved, and what no host has taken yet is withdrawn
  resume     a halted one goes on; the hosts that have failed do not count any more
  cancel     ends one; its versions are left to people, and newer ones need not wait for it
  emergency  skips the soak of its rings from now on; hosts of a ring that has nothing to install are asked to scan, and
             it is passed 15 minutes later
  approve    approves the gate of the ring that was entered last
  rollback   undoes what one that stands still or has ended has installed on the hosts of a ring, in the name of the author

All of them work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL). A running server carries out what they
say within a minute.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { reason, ring, author, 'dry-run': isDry = false, all: isAll = false, json = false } = values;
    const [act, id, ...more] = positionals;
    if (act === undefined || !ACTS.includes(act)) {
      throw new UsageError(`rollouts needs one of: ${ACTS.join(', ')}`);
    }
    if (isAll && act !== 'list') throw new UsageError('--all works only with list');
    if (reason !== undefined && !CHANGES.has(act) && act !== 'rollback') {
      throw new UsageError(`--reason works only with ${[...CHANGES.keys(), 'rollback'].join(', ')}`);
    }
    if (ring !== undefined && act !== 'approve' && act !== 'rollback')
      throw new UsageError('--ring works only with approve and rollback');
    if ((author !== undefined || isDry) && act !== 'rollback')
      throw new UsageError('--author and --dry-run work only with rollback');
    if (act === 'list') {
      if (id !== undefined) throw new UsageError(`unknown words: ${[id, ...more].join(' ')}`);
      return withInstallation(world, (installation) => list(installation, world, { isAll, json }));
    }
    if (id === undefined || more.length > 0) throw new UsageError(`${act} needs an ID`);
    if (act === 'show') return withInstallation(world, (opened) => show(opened, world, { id, json }));
    if (act === 'rollback') {
      if (author === undefined) throw new UsageError('rollback needs --author OPERATOR');
      const undo = { id, author, isDry, json, ring: ringOf(act, ring), reason: reasonOf(act, reason) };
      return withInstallation(world, (installation) => rollBack(installation, world, undo));
    }
    return withInstallation(world, (installation) =>
      change(installation, world, { id, json, what: changeOf(act, { reason, ring }) }),
    );
  },
});

type Given = Pick<Act, 'rollout' | 'policyName' | 'by'>;
type Change = (tx: Tx, platform: Installation['platform'], given: Given) => Promise<RolloutRow | null>;

const CHANGES: ReadonlyMap<
  string,
  (tx: Tx, platform: Installation['platform'], act: Act) => Promise<RolloutRow | null>
> = new Map([
  ['halt', haltRollout],
  ['resume', resumeRollout],
  ['cancel', cancelRollout],
  ['emergency', expediteRollout],
]);
const ACTS = ['list', 'show', ...CHANGES.keys(), 'approve', 'rollback'];

function changeOf(act: string, asked: { reason: string | undefined; ring: string | undefined }): Change {
  const changing = CHANGES.get(act);
  if (!changing) {
    const ring = ringOf(act, asked.ring);
    return (tx, platform, given) => approveRing(tx, platform, { ...given, ring });
  }
  const reason = reasonOf(act, asked.reason);
  return (tx, platform, given) => changing(tx, platform, { ...given, reason });
}

function ringOf(act: string, word: string | undefined): number {
  const ring = word === undefined || word === '' ? Number.NaN : Number(word);
  if (!Number.isInteger(ring) || ring < 0) throw new UsageError(`${act} needs --ring NUMBER, counted from 0`);
  return ring;
}

function reasonOf(act: string, reason: string | undefined): string {
  if (reason === undefined) throw new UsageError(`${act} needs --reason TEXT`);
  if (!Check(Reason, reason)) throw new UsageError('--reason must be a text of 1 to 1000 characters');
  return reason;
}

async function list(
  { platform }: Installation,
  world: CliWorld,
  { isAll, json }: { isAll: boolean; json: boolean },
): Promise<ExitCode> {
  const db = platform.database.read;
  const rows = (await listRollouts(db, { limit: SHOWN_MAX, after: null })).filter(
    ({ ended_at: endedAt }) => isAll || endedAt === null,
  );
  const rollouts = [];
  for (const ringed of await withRings(db, rows))
    rollouts.push(await rolloutItem(db, ringed, platform.now()));
  showList(world, ROLLOUTS, { items: rollouts, json });
  return EXIT.ok;
}

async function show(
  installation: Installation,
  world: CliWorld,
  { id, json }: { id: string; json: boolean },
): Promise<ExitCode> {
  const { platform } = installation;
  const detail = await rolloutDetail(platform.database.read, await named(installation, id), platform.now());
  world.out(json ? JSON.stringify(detail, null, 2) : linesOf(detail).join('\n'));
  return EXIT.ok;
}

function linesOf(detail: RolloutDetail): string[] {
  const { policy_name: policy, state, lane, waits_for: waits, package_list: packages, lanes } = detail;
  const more = detail.packages - packages.length;
  return [
    `Rollout of ${policy}: ${state}${lane === 'emergency' ? ', in the emergency lane' : ''}. ${waits}`,
    ...lanes.flatMap(ringLines),
    ...detail.unrepresented.map(
      (one) =>
        `No host of the first ring has ${one.os_id} ${one.os_version} ${one.arch}; ${hostsText(one.hosts)} of other rings.`,
    ),
    ...packages.map(
      (one) => `${one.ecosystem} ${one.name} ${one.version}, offered on ${hostsText(one.hosts)}`,
    ),
    ...(more > 0 ? [`and ${more} more packages`] : []),
  ];
}

function ringLines({ ring, name, state, hosts, late, excused, outcomes, conditions }: RolloutRing): string[] {
  const counts = Object.entries(outcomes).flatMap(([outcome, count]) =>
    count > 0 ? `${count} ${outcome.replaceAll('_', ' ')}` : [],
  );
  const beside = [
    ...(late > 0 ? [`${late} of them joined later`] : []),
    ...(excused > 0 ? [`${excused} excused`] : []),
  ];
  const about = [...counts, ...beside].join(', ');
  return [
    `Ring ${ring} "${name}" (${state}), ${hosts === 0 ? 'no hosts' : `${hostsText(hosts)}: ${about}`}`,
    ...conditions.map(({ met, text, has, wants }) => `  [${met ? 'x' : ' '}] ${text} (${has} of ${wants})`),
  ];
}

async function change(
  installation: Installation,
  world: CliWorld,
  { id, json, what }: { id: string; json: boolean; what: Change },
): Promise<ExitCode> {
  const { platform } = installation;
  const { database } = platform;
  const { rollout, policy } = await named(installation, id);
  const given = { rollout, policyName: policy.name, by: ACTOR };
  const done = await database.transact((tx) => what(tx, platform, given));
  const after = await rolloutDetail(database.read, await named(installation, id), platform.now());
  if (!done) throw new CommandFault(`the rollout is ${after.state}, and ring ${after.ring} was entered last`);
  world.out(json ? JSON.stringify(after, null, 2) : `The rollout is ${after.state}. ${after.waits_for}`);
  return EXIT.ok;
}

async function rollBack(
  installation: Installation,
  world: CliWorld,
  asked: { id: string; ring: number; author: string; reason: string; isDry: boolean; json: boolean },
): Promise<ExitCode> {
  const { platform } = installation;
  const { ring, reason, isDry } = asked;
  const operator = await rollbackAuthor(platform.database.read, asked.author);
  const { rollout, rings } = await named(installation, asked.id);
  if (ring >= rings.length) throw new CommandFault(`the rollout has ${rings.length} rings, counted from 0`);
  const told: RollbackAnswer = { requested: [], skipped: [] };
  let after: string | null = null;
  do {
    const order = { rollout, ring, reason, after, operator, actor: ACTOR, dryRun: isDry };
    const part: RingRollbackAnswer | null = await rollBackRing(platform, order);
    if (!part) throw new CommandFault('the rollout is running: halt it first');
    told.requested.push(...part.requested);
    told.skipped.push(...part.skipped);
    after = part.next;
  } while (after !== null);
  const what = `what ring ${ring} of the rollout has installed`;
  world.out(
    asked.json ? JSON.stringify({ dry_run: isDry, ...told }, null, 2) : rollbackText(told, { what, isDry }),
  );
  return EXIT.ok;
}

async function named({ platform }: Installation, id: string): Promise<RingedRollout> {
  const db = platform.database.read;
  const rollout = await findRollout(db, id);
  const [ringed] = rollout ? await withRings(db, [rollout]) : [];
  if (!ringed)
    throw new CommandFault(`there is no rollout ${JSON.stringify(id)}; see tidegate rollouts list`);
  return ringed;
}
