import type { PlanAction } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { isIntact, type Kept } from '../kept-files.ts';
import { soundPlan } from '../sound-plan.ts';
import { differenceOf, findDone, isOf, isUndone, noWayBack, withKept } from '../undo-rules.ts';
import { toActions } from './actions.ts';
import { addArtifacts, addReplaced, replacedBy } from './add-artifacts.ts';
import { keyOf, readArchiveFiles, type Wanted } from './artifacts.ts';
import { heldReason } from './held.ts';
import { type Parsed, parseTransaction } from './parse-transaction.ts';
import type { Planner } from './planner.ts';
import { installPin, isSafeArgument } from './session.ts';

/**
 * Plans a rollback: exactly what an installation is to have undone, without what is undone already. apt resolves it from
 * the files that are kept here and from its archives; a transaction that does more or less is no plan.
 */
export async function planUndo(
  planner: Planner,
  { updates, undo }: { updates: readonly PlanTarget[]; undo: readonly RollbackAction[] },
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const fresh = await planner.refresh();
  if (!fresh.ok) return fresh;
  const { installed, places } = planner.state();
  const rest = undo.filter((action) => !isUndone(action, installed));
  const done = findDone(updates, rest);
  if (done !== null) return { ok: false, reason: done };
  const held = installed.find((pkg) => pkg.held && rest.some((action) => isOf(action, pkg)));
  if (held !== undefined) return { ok: false, reason: heldReason(held) };
  const files = await findFiles(planner, rest);
  if (!files.ok) return files;
  const request = requestOf(rest, files.value);
  if (!request.ok) return request;
  const simulated = await planner.session.run('apt-get', ['-s', '-y', ...request.value]);
  if (!simulated.ok) return { ok: false, reason: simulated.detail };
  const transaction = parseTransaction(simulated.stdout);
  if (!transaction.ok) return transaction;
  const actions = toActions(transaction.value, installed, places);
  if (!actions.ok) return actions;
  const difference = differenceOf(rest, actions.value, 'apt');
  if (difference !== null) return { ok: false, reason: difference };
  const described = await describe(planner, actions.value, files.value);
  return described.ok ? soundPlan(described.value, resolvedAt) : described;
}

/** Where each version comes from. */
interface Sources {
  kept: ReadonlyMap<string, Kept>;
  /** Those that an archive still offers. */
  listed: Wanted[];
}

async function findFiles(planner: Planner, rest: readonly RollbackAction[]): Promise<Parsed<Sources>> {
  const kept = new Map<string, Kept>();
  const others: Wanted[] = [];
  for (const { action, name, arch, to_version: version } of rest) {
    if (action === 'remove' || arch === undefined || version === undefined) continue;
    const file = planner.kept.find({ ecosystem: 'apt', name, arch, version });
    if (file !== null && isIntact(file, file.path)) kept.set(keyOf({ name, arch, version }), file);
    else others.push({ name, arch, version });
  }
  if (!others.every(isSafeArgument)) return { ok: false, reason: 'apt does not accept a name or version' };
  const listed: Wanted[] = [];
  for (const one of others) {
    // One by one: apt fails as a whole where it does not know one of them.
    const read = await planner.indexes().read([one]);
    if (read.ok && planner.indexes().records(one).length > 0) listed.push(one);
  }
  const lost = others.filter((one) => !listed.includes(one));
  if (lost.length === 0) return { ok: true, value: { kept, listed } };
  return { ok: false, reason: noWayBack(lost, 'its archives have') };
}

function requestOf(rest: readonly RollbackAction[], { kept }: Sources): Parsed<string[]> {
  const words: string[] = [];
  for (const { action, name, arch, from_version: from, to_version: to } of rest) {
    const version = action === 'remove' ? from : to;
    if (arch === undefined || version === undefined || !isSafeArgument({ name, arch, version })) {
      return { ok: false, reason: `apt does not accept the name or version of ${name}` };
    }
    const file = kept.get(keyOf({ name, arch, version }));
    if (action === 'remove') words.push(arch === 'all' ? `${name}-` : `${name}:${arch}-`);
    else words.push(file?.path ?? installPin({ name, arch, version }));
  }
  const removes = rest.some(({ action }) => action === 'remove');
  return {
    ok: true,
    value: ['--allow-downgrades', ...(removes ? [] : ['--no-remove']), 'install', ...words],
  };
}

async function describe(
  planner: Planner,
  actions: readonly PlanAction[],
  { kept, listed }: Sources,
): Promise<Parsed<PlanAction[]>> {
  const indexes = planner.indexes();
  const files = await readArchiveFiles(planner.session, listed);
  if (!files.ok) return files;
  const read = await indexes.read(replacedBy(actions));
  const fromArchive = actions.filter((action) => keptOf(action, kept) === undefined);
  const complete = addArtifacts(fromArchive, files.value, indexes);
  if (!complete.ok) return complete;
  const signed = await indexes.withOriginKeys(complete.value);
  const fromHere = actions.flatMap((action) => {
    const file = keptOf(action, kept);
    return file === undefined ? [] : [withKept(action, file)];
  });
  const all = [...signed, ...fromHere].toSorted(
    (a, b) => actions.findIndex(sameAs(a)) - actions.findIndex(sameAs(b)),
  );
  return { ok: true, value: read.ok ? addReplaced(all, { ...indexes, kept: planner.kept }) : all };
}

function keptOf({ action, name, arch = '', to_version: version = '' }: PlanAction, kept: Sources['kept']) {
  return action === 'remove' ? undefined : kept.get(keyOf({ name, arch, version }));
}

function sameAs(a: PlanAction) {
  return ({ name, arch }: PlanAction) => name === a.name && arch === a.arch;
}
