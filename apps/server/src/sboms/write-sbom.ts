import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import type { Db } from '../platform/db/engine.ts';
import { jsonPieces } from '../platform/http/answer-file.ts';
import {
  type Component,
  hostComponent,
  packageComponent,
  systemComponent,
  targetComponent,
} from './component-rules.ts';
import type { HostRow, Target } from './facts-store.ts';
import { contentId, packagesByHosts, readTarget, type Subjects, tooLarge } from './read-target.ts';

/** Most different package versions of one document. */
const COMPONENTS_MAX = 100_000;

/** What is installed as a CycloneDX 1.6 document, a piece at a time; the same text for the same reports. */
export async function* writeSbom(db: Db, target: Target): AsyncGenerator<string> {
  const subjects = await readTarget(db, target);
  const { hosts, at } = subjects;
  const { components, refs } = await collect(db, hosts);
  const about = targetComponent(target, hosts);
  const packages = [...components.values()].toSorted(byRef);
  const systems = [
    ...new Map(hosts.map((host) => [systemComponent(host)['bom-ref'], systemComponent(host)])).values(),
  ];
  const others = [...(target.kind === 'group' ? hosts.map(hostComponent) : []), ...systems.toSorted(byRef)];
  const id = contentId([about['bom-ref'], at, ...packages.map((one) => one['bom-ref'])].join('\n'));
  yield* jsonPieces(
    {
      ...{ bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: `urn:uuid:${id}`, version: 1 },
      metadata: { ...(at !== null && { timestamp: at }), component: about },
    },
    {
      components: chain(others, packages),
      dependencies: dependenciesOf(subjects, refs),
      compositions: hosts.map((host) => ({
        aggregate: subjects.aggregateOf(host.id),
        dependencies: [hostComponent(host)['bom-ref']],
      })),
    },
  );
}

/** Each package once, and which of them each host has. */
async function collect(db: Db, hosts: readonly HostRow[]) {
  const components = new Map<string, Component>();
  const refs = new Map<string, ReadonlySet<Component>>();
  for await (const { hosts: some, packages } of packagesByHosts(db, hosts)) {
    for (const host of some) {
      const own = new Set<Component>();
      for (const row of packages.get(host.id) ?? []) {
        const made = packageComponent(host, Value.Parse(Ecosystem, row.ecosystem), row);
        const component = components.get(made['bom-ref']) ?? made;
        components.set(made['bom-ref'], component);
        own.add(component);
      }
      refs.set(host.id, own);
    }
    if (components.size > COMPONENTS_MAX)
      throw tooLarge(`The hosts have more than ${COMPONENTS_MAX} different package versions.`);
  }
  return { components, refs };
}

function* dependenciesOf({ target, hosts }: Subjects, refs: ReadonlyMap<string, ReadonlySet<Component>>) {
  if (target.kind === 'group') {
    const dependsOn = hosts.map((host) => hostComponent(host)['bom-ref']);
    yield { ref: targetComponent(target, hosts)['bom-ref'], dependsOn };
  }
  for (const host of hosts) {
    const own = [...(refs.get(host.id) ?? [])].map((one) => one['bom-ref']).toSorted();
    yield { ref: hostComponent(host)['bom-ref'], dependsOn: [systemComponent(host)['bom-ref'], ...own] };
  }
}

function* chain<T>(...lists: Iterable<T>[]): Iterable<T> {
  for (const list of lists) yield* list;
}

function byRef(a: Component, b: Component): number {
  return a['bom-ref'] < b['bom-ref'] ? -1 : 1;
}
