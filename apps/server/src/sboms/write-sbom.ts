import type { Db } from '../platform/db/engine.ts';
import { jsonPieces } from '../platform/http/answer-file.ts';
import { sortInTurns } from '../platform/turns.ts';
import {
  type Component,
  hostComponent,
  packageComponent,
  systemComponent,
  targetComponent,
} from './component-rules.ts';
import type { HostRow, Target } from './facts-store.ts';
import { contentId, packagesOfHost, readTarget, type Subjects, tooLarge } from './read-target.ts';

/** Most different package versions of one document. */
const COMPONENTS_MAX = 100_000;

/** What is installed as a CycloneDX 1.6 document, a piece at a time; the same text for the same reports. */
export async function* writeSbom(db: Db, target: Target): AsyncGenerator<string> {
  const subjects = await readTarget(db, target);
  const { hosts, at } = subjects;
  const { components, refs } = await collect(db, hosts);
  const about = targetComponent(target, hosts);
  const packages = await sortInTurns([...components.values()], ({ component: a }, { component: b }) =>
    byRef(a, b),
  );
  const ranks = new Uint32Array(packages.length);
  for (const [rank, { n }] of packages.entries()) ranks[n] = rank;
  const purls = packages.map(({ component }) => component['bom-ref']);
  const systems = [
    ...new Map(hosts.map((host) => [systemComponent(host)['bom-ref'], systemComponent(host)])).values(),
  ];
  const others = [...(target.kind === 'group' ? hosts.map(hostComponent) : []), ...systems.toSorted(byRef)];
  const id = await contentId([about['bom-ref'], String(at), ...purls]);
  yield* jsonPieces(
    {
      ...{ bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: `urn:uuid:${id}`, version: 1 },
      metadata: { ...(at !== null && { timestamp: at }), component: about },
    },
    {
      components: chain(
        others,
        packages.map(({ component }) => component),
      ),
      dependencies: dependenciesOf(subjects, (host) => {
        const own = (refs.get(host.id) ?? new Uint32Array()).map((n) => ranks[n] ?? 0).sort();
        return Array.from(own, (rank) => purls[rank]);
      }),
      compositions: hosts.map((host) => ({
        aggregate: subjects.aggregateOf(host.id),
        dependencies: [hostComponent(host)['bom-ref']],
      })),
    },
  );
}

interface Counted {
  readonly component: Component;
  /** Its number, in the order in which they were found. */
  readonly n: number;
}

/** Each package once, and the numbers of those that each host has: a group has the same ones many times. */
async function collect(db: Db, hosts: readonly HostRow[]) {
  const components = new Map<string, Counted>();
  const refs = new Map<string, Uint32Array>();
  for (const host of hosts) {
    const own = new Set<number>();
    for await (const { ecosystem, packages } of packagesOfHost(db, host)) {
      for (const row of packages) {
        const component = packageComponent(host, ecosystem, row);
        const counted = components.get(component['bom-ref']) ?? { component, n: components.size };
        components.set(component['bom-ref'], counted);
        own.add(counted.n);
      }
      if (components.size > COMPONENTS_MAX)
        throw tooLarge(`The hosts have more than ${COMPONENTS_MAX} different package versions.`);
    }
    refs.set(host.id, Uint32Array.from(own));
  }
  return { components, refs };
}

function* dependenciesOf({ target, hosts }: Subjects, purlsOf: (host: HostRow) => readonly unknown[]) {
  if (target.kind === 'group') {
    const dependsOn = hosts.map((host) => hostComponent(host)['bom-ref']);
    yield { ref: targetComponent(target, hosts)['bom-ref'], dependsOn };
  }
  for (const host of hosts)
    yield {
      ref: hostComponent(host)['bom-ref'],
      dependsOn: [systemComponent(host)['bom-ref'], ...purlsOf(host)],
    };
}

function* chain<T>(...lists: Iterable<T>[]): Iterable<T> {
  for (const list of lists) yield* list;
}

function byRef(a: Component, b: Component): number {
  return a['bom-ref'] < b['bom-ref'] ? -1 : 1;
}
