import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { HostSystem } from './ecosystem-strings.ts';
import type { InstalledPackage } from './installed-package.ts';
import { type Subject, type SubjectsOf, subjectsAfter, subjectsOf } from './subjects.ts';

/** One package of the closure with its subjects, after the update and now (null: not installed). */
export interface ClosurePackage {
  readonly name: string;
  readonly version: string;
  readonly isTop: boolean;
  readonly after: SubjectsOf;
  readonly before: SubjectsOf | null;
}

/** An update, by package; an empty architecture matches any. */
export interface Top {
  readonly name: string;
  readonly arch: string;
}

/** Reading 2: everything that the transaction installs, upgrades or downgrades; removals are not judged. */
export function closurePackages(args: {
  ecosystem: Ecosystem;
  system: HostSystem;
  actions: readonly PlanAction[];
  /** The updates themselves; every other package comes with them. */
  tops: readonly Top[];
  installed: readonly InstalledPackage[];
}): ClosurePackage[] {
  const { ecosystem, system, actions } = args;
  const tops = Map.groupBy(args.tops, ({ name }) => name);
  const installed = new Map(args.installed.map((one) => [installedKey(one), one]));
  return actions
    .filter(({ action }) => action !== 'remove')
    .map((action) => ({
      name: action.name,
      version: action.to_version ?? '',
      isTop: (tops.get(action.name) ?? []).some(({ arch }) => !arch || !action.arch || action.arch === arch),
      after: subjectsAfter(ecosystem, system, action),
      before: subjectsBefore({ ecosystem, system, action, installed }),
    }));
}

function subjectsBefore(args: {
  ecosystem: Ecosystem;
  system: HostSystem;
  action: PlanAction;
  installed: ReadonlyMap<string, InstalledPackage>;
}): SubjectsOf | null {
  const { ecosystem, system, action, installed } = args;
  const { name, arch = '', from_version: version } = action;
  if (version === undefined) return null;
  const present = installed.get(installedKey({ name, arch, version })) ?? { name, version };
  return subjectsOf(ecosystem, system, present);
}

function installedKey({ name, arch, version }: { name: string; arch: string; version: string }): string {
  return `${name}\n${arch}\n${version}`;
}

/** All subjects of a closure: after the update, and the present ones for comparison. */
export function closureSubjects(packages: readonly ClosurePackage[]): {
  after: Subject[];
  before: Subject[];
} {
  return {
    after: packages.flatMap((one) => one.after.subjects),
    before: packages.flatMap((one) => one.before?.subjects ?? []),
  };
}
