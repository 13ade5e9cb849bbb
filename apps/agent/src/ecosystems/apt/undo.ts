import type { PlanAction } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { isIntact, type Kept } from '../kept-files.ts';
import { toActions } from './actions.ts';
import { addArtifacts, addReplaced, replacedBy } from './add-artifacts.ts';
import { keyOf, readArchiveFiles, type Wanted } from './artifacts.ts';
import type { InstalledPackage } from './installed.ts';
import { type Parsed, parseTransaction } from './parse-transaction.ts';
import type { Planner } from './planner.ts';
import { installPin, isSafeArgument } from './session.ts';
import { heldReason, soundPlan } from './sound-plan.ts';

/** Differences that a reason names. */
const NAMED_MAX = 5;

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
  const missed = updates.find(({ name }) => !rest.some((action) => action.name === name));
  if (missed !== undefined)
    return { ok: false, reason: `${missed.name} ${missed.toVersion} is there already` };
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
  const difference = differenceOf(rest, actions.value);
  if (difference !== null) return { ok: false, reason: difference };
  const described = await describe(planner, actions.value, files.value);
  return described.ok ? soundPlan(described.value, resolvedAt) : described;
}

function isUndone(action: RollbackAction, installed: readonly InstalledPackage[]): boolean {
  const own = installed.filter((pkg) => isOf(action, pkg));
  return action.action === 'remove'
    ? own.length === 0
    : own.some(({ version }) => version === action.to_version);
}

function isOf({ name, arch }: RollbackAction, pkg: InstalledPackage): boolean {
  return pkg.name === name && pkg.arch === arch;
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
  const lost = others.filter((one) => !listed.includes(one)).map(({ name, version }) => `${name} ${version}`);
  if (lost.length === 0) return { ok: true, value: { kept, listed } };
  return {
    ok: false,
    reason: `no way back: neither this host nor its archives have the file of ${named(lost)}`,
  };
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

/** What apt would do beside what is asked for, or would not do, as a sentence; null where it does exactly that. */
function differenceOf(rest: readonly RollbackAction[], actions: readonly PlanAction[]): string | null {
  const asked = new Set(rest.map(textOf));
  const answered = new Set(actions.map(textOf));
  const more = [...answered].filter((text) => !asked.has(text));
  const less = [...asked].filter((text) => !answered.has(text));
  if (more.length > 0) return `the rollback would do more than undo the installation: ${named(more)}`;
  return less.length > 0 ? `the host has changed since the installation: apt does not ${named(less)}` : null;
}

function textOf({ action, name, arch, from_version: from, to_version: to }: RollbackAction): string {
  const versions = [from && ` from ${from}`, to && ` to ${to}`].filter((text) => text !== undefined);
  return `${action} ${name}:${arch ?? ''}${versions.join('')}`;
}

function named(texts: readonly string[]): string {
  const more = texts.length > NAMED_MAX ? `, and ${texts.length - NAMED_MAX} more` : '';
  return `${texts.slice(0, NAMED_MAX).join(', ')}${more}`;
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

/** What the index said about the file when it was kept. */
function withKept({ origin: _, ...action }: PlanAction, file: Kept): PlanAction {
  const { source_name, source_version, origin, origin_key, artifact } = file;
  return {
    ...action,
    ...(source_name !== undefined && { source_name }),
    ...(source_version !== undefined && { source_version }),
    ...(origin !== undefined && { origin }),
    ...(origin_key !== undefined && { origin_key }),
    artifact,
  };
}
