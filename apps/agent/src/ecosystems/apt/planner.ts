import { stat } from 'node:fs/promises';
import type { HostPaths, PlanTarget } from '../ecosystem.ts';
import { type KeptFiles, openKept } from '../kept-files.ts';
import { type Indexes, openIndexes } from './indexes.ts';
import { type AptPlaces, databaseMark, findAptPlaces, readInstalled } from './installed.ts';
import type { Parsed, Transaction } from './parse-transaction.ts';
import { type HostState, resolveTransaction } from './resolve.ts';
import { type AptSession, isSafeArgument, withAptSession } from './session.ts';

/** Plans of one session share what they read, for as long as neither packages nor lists change. */
export interface Planner {
  readonly session: AptSession;
  readonly kept: KeptFiles;
  /** Reads the host anew where it has changed since the last plan. */
  refresh(): Promise<Parsed<null>>;
  /** What is installed, as of the last `refresh`. */
  state(): HostState;
  indexes(): Indexes;
  /** What a full upgrade would bring, which respects phased updates; null where apt cannot say. */
  offered(): Promise<Transaction | null>;
}

interface View {
  mark: string;
  state: HostState;
  indexes: Indexes;
  offered: Promise<Transaction | null> | null;
}

/** Opens a session for plans; `upcoming` is what will probably be asked for, read ahead in one run. */
export async function withPlanner<T>(
  paths: HostPaths,
  upcoming: readonly PlanTarget[],
  work: (planner: Parsed<Planner>) => Promise<T>,
): Promise<T> {
  const places = await findAptPlaces(paths);
  if (!places.ok) return work(places);
  return withAptSession(paths, async (session) => {
    const view = await readView(session, places.value);
    if (!view.ok) return work(view);
    if (upcoming.length > 1) await readAhead(view.value, upcoming);
    return work({ ok: true, value: createPlanner(session, view.value, openKept(paths.kept)) });
  });
}

function createPlanner(session: AptSession, first: View, kept: KeptFiles): Planner {
  let view = first;
  const { places } = first.state;
  return {
    session,
    kept,
    refresh: async () => {
      if ((await markOf(places)) === view.mark) return { ok: true, value: null };
      const changed = await readView(session, places);
      if (!changed.ok) return changed;
      view = changed.value;
      return { ok: true, value: null };
    },
    state: () => view.state,
    indexes: () => view.indexes,
    offered: () => {
      view.offered ??= resolveTransaction(session, ['dist-upgrade'], view.state).then((resolved) =>
        resolved.ok ? resolved.value.transaction : null,
      );
      return view.offered;
    },
  };
}

async function readView(session: AptSession, places: AptPlaces): Promise<Parsed<View>> {
  const mark = await markOf(places);
  if (mark === null) return { ok: false, reason: "dpkg's database or the package lists cannot be read" };
  const installed = await readInstalled(places);
  if (!installed.ok) return installed;
  const state = { places, installed: installed.value.packages };
  return { ok: true, value: { mark, state, indexes: openIndexes(session, places), offered: null } };
}

/** A failure is ignored: each plan reads what is missing, and says what is wrong. */
async function readAhead({ indexes, state: { places, installed } }: View, upcoming: readonly PlanTarget[]) {
  const incoming = upcoming.map(({ name, arch, toVersion: version }) => ({
    name,
    arch: arch ?? places.nativeArch,
    version,
  }));
  const names = new Set(upcoming.map(({ name }) => name));
  const replaced = installed.filter((one) => names.has(one.name) && isSafeArgument(one));
  await indexes.read([...incoming, ...replaced]);
}

/** Changes whenever packages or lists change: apt replaces the files of the lists. */
async function markOf(places: AptPlaces): Promise<string | null> {
  try {
    const lists = await stat(places.listsDir, { bigint: true });
    return `${await databaseMark(places)} ${lists.ino}:${lists.mtimeNs}`;
  } catch {
    return null;
  }
}
