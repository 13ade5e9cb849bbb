import type { PlanAction } from '@tidegate/protocol/plan';
import type { RollbackAction } from '@tidegate/protocol/rollbacks';
import type { PlanOutcome, PlanTarget } from '../ecosystem.ts';
import { isIntact, type Kept, type KeptFiles } from '../kept-files.ts';
import { soundPlan } from '../sound-plan.ts';
import { differenceOf, findDone, isUndone, noWayBack, withKept } from '../undo-rules.ts';
import { addArtifacts, addReplaced, toActions } from './actions.ts';
import { parseAnswer, type TransactionAnswer, UndoAnswer } from './answers.ts';
import { readInstalled } from './installed.ts';
import { isSafeArgument } from './names-rules.ts';
import type { Parsed } from './places.ts';
import type { DnfSession } from './session.ts';

interface Planner {
  session: DnfSession;
  kept: KeptFiles;
}

/** A package in the terms of the programs. */
interface Named {
  name: string;
  arch: string;
  evr: string;
}

/**
 * Plans a rollback: exactly what an installation is to have undone, without what is undone already. dnf resolves it from
 * the files that are kept here, and from its repositories where one is lacking; a transaction that does more or less is no
 * plan.
 */
export async function planUndo(
  { session, kept }: Planner,
  { updates, undo }: { updates: readonly PlanTarget[]; undo: readonly RollbackAction[] },
  resolvedAt: Date,
): Promise<PlanOutcome> {
  const installed = await readInstalled(session);
  if (!installed.ok) return installed;
  const versions = installed.value.map(({ name, arch, evr: version }) => ({ name, arch, version }));
  const rest = undo.filter((action) => !isUndone(action, versions));
  const done = findDone(updates, rest);
  if (done !== null) return { ok: false, reason: done };
  const changes = changesOf(rest);
  if (changes === null) return { ok: false, reason: 'dnf does not accept a name or version' };
  const files = new Map(changes.coming.flatMap((pkg) => keptOf(kept, pkg)));
  const transaction = await resolve(session, changes, files);
  if (!transaction.ok) return transaction;
  const bare = toActions(transaction.value);
  if (!bare.ok) return bare;
  const difference = differenceOf(rest, bare.value, 'dnf');
  if (difference !== null) return { ok: false, reason: difference };
  const actions = describe(bare.value, transaction.value, files);
  if (!actions.ok) return actions;
  return soundPlan(addReplaced(actions.value, transaction.value.going, kept), resolvedAt);
}

interface Changes {
  coming: Named[];
  going: Named[];
}

/** What comes and what goes; null where dnf would not take one of them for a package. */
function changesOf(rest: readonly RollbackAction[]): Changes | null {
  const named = (versionOf: (action: RollbackAction) => string | undefined) =>
    rest.flatMap((action) => {
      const evr = versionOf(action);
      return evr === undefined ? [] : [{ name: action.name, arch: action.arch ?? '', evr }];
    });
  const changes = {
    coming: named(({ to_version: to }) => to),
    going: named(({ from_version: from }) => from),
  };
  return [...changes.coming, ...changes.going].every(isSafeArgument) ? changes : null;
}

function keptOf(kept: KeptFiles, pkg: Named): [string, Kept][] {
  const { name, arch, evr: version } = pkg;
  const file = kept.find({ ecosystem: 'dnf', name, arch, version });
  return file !== null && isIntact(file, file.path) ? [[keyOf(pkg), file]] : [];
}

async function resolve(
  session: DnfSession,
  { coming, going }: Changes,
  files: ReadonlyMap<string, Kept>,
): Promise<Parsed<TransactionAnswer>> {
  const listed = coming.filter((pkg) => !files.has(keyOf(pkg)));
  const lent = await session.lend([...files.values()].map(({ path }) => path));
  if (!lent.ok) return lent;
  const request = { files: lent.value, listed, coming, going };
  const answer = parseAnswer(await session.ask('undo', request), UndoAnswer);
  if (!answer.ok) return answer;
  const { lost, ...transaction } = answer.value;
  if (lost.length === 0) return { ok: true, value: transaction };
  const named = lost.map(({ name, evr: version }) => ({ name, version }));
  return { ok: false, reason: noWayBack(named, 'its repositories have') };
}

/** What is kept is described as its plan was; everything else by the metadata of the repositories. */
function describe(
  actions: readonly PlanAction[],
  { coming }: TransactionAnswer,
  files: ReadonlyMap<string, Kept>,
): Parsed<PlanAction[]> {
  const described: PlanAction[] = [];
  for (const action of actions) {
    const { name, arch = '', to_version: evr = '' } = action;
    const file = files.get(keyOf({ name, arch, evr }));
    const one: Parsed<PlanAction[]> =
      file === undefined ? addArtifacts([action], coming) : { ok: true, value: [withKept(action, file)] };
    if (!one.ok) return one;
    described.push(...one.value);
  }
  return { ok: true, value: described };
}

function keyOf({ name, arch, evr }: Named): string {
  return `${name}.${arch} ${evr}`;
}
