import type { VexFormat } from '@tidegate/protocol/vex-api';
import { jsonPieces } from '../platform/http/answer-file.ts';
import { Refusal } from '../platform/http/refusal.ts';
import { sortInTurns, takeTurn } from '../platform/turns.ts';
import type { HostsDeps } from '../unfixed/list-hosts.ts';
import { JUSTIFICATIONS } from '../vex/documents/cyclonedx.ts';
import { OPENVEX_CONTEXT } from '../vex/documents/openvex.ts';
import { type Component, targetComponent } from './component-rules.ts';
import type { Target } from './facts-store.ts';
import { readStandings } from './read-standings.ts';
import { contentId, readTarget } from './read-target.ts';
import type { Standing } from './vex-rules.ts';

const CYCLONEDX_STATES = {
  affected: 'exploitable',
  under_investigation: 'in_triage',
  fixed: 'resolved',
  not_affected: 'not_affected',
} as const satisfies Record<Standing['state'], string>;

const NOTHING = 'No vulnerability of these packages is known, and a VEX needs at least one.';

/** Packages with the same standing in one vulnerability. */
interface Group {
  readonly id: string;
  readonly standing: Standing;
  readonly components: Component[];
}

/** What is known of the vulnerabilities of what is installed, a piece at a time. A package that it does not name is not safe by that. */
export async function* writeVex(
  deps: HostsDeps,
  { target, format, author }: { target: Target; format: VexFormat; author: string },
): AsyncGenerator<string> {
  const subjects = await readTarget(deps.platform.database.read, target);
  const { of, packages, unjudged } = await readStandings(deps, subjects);
  const groups = await groupsOf(of);
  if (groups.length === 0)
    throw new Refusal('conflict', { detail: `${NOTHING} ${unjudgedText({ packages, unjudged })}` });
  const about = targetComponent(target, subjects.hosts);
  const timestamp = subjects.at ?? undefined;
  const id = await contentId(textsOf({ of: about['bom-ref'], at: subjects.at }, groups));
  switch (format) {
    case 'cyclonedx': {
      const components = await sortInTurns(
        [...of.values()].map(({ component }) => component),
        byRef,
      );
      yield* jsonPieces(
        {
          ...{ bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: `urn:uuid:${id}`, version: 1 },
          metadata: {
            ...{ timestamp, authors: [{ name: author }], component: about },
            properties: [
              { name: 'tidegate:packages', value: String(packages) },
              { name: 'tidegate:packages_not_judged', value: String(unjudged) },
            ],
          },
        },
        { components, vulnerabilities: groups.map(vulnerabilityOf) },
      );
      return;
    }
    case 'openvex':
      yield* jsonPieces(
        {
          ...{ '@context': OPENVEX_CONTEXT, '@id': `urn:uuid:${id}`, author, timestamp, version: 1 },
          tooling: `Tidegate, about ${about.name}. ${unjudgedText({ packages, unjudged })}`,
        },
        { statements: groups.map(statementOf) },
      );
  }
}

function unjudgedText({ packages, unjudged }: { packages: number; unjudged: number }): string {
  return `${unjudged} of ${packages} packages are not wholly judged: they may have vulnerabilities that are not named here.`;
}

type Standings = Awaited<ReturnType<typeof readStandings>>['of'];

async function groupsOf(of: Standings): Promise<Group[]> {
  const groups = new Map<string, Group>();
  const components = await sortInTurns([...of.values()], (a, b) => byRef(a.component, b.component));
  for (const { component, standings } of components) {
    await takeTurn();
    for (const [id, standing] of standings) {
      const { state, isAccepted, justification, text } = standing;
      const key = JSON.stringify([id, state, isAccepted, justification, text]);
      const group = groups.get(key) ?? { id, standing, components: [] };
      group.components.push(component);
      groups.set(key, group);
    }
  }
  const sorted = await sortInTurns([...groups], ([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([, group]) => group);
}

/** What the id of a document covers. */
function* textsOf({ of, at }: { of: string; at: string | null }, groups: readonly Group[]): Iterable<string> {
  yield JSON.stringify([of, at]);
  for (const { id, standing, components } of groups)
    yield JSON.stringify([id, standing, components.map((one) => one.purl)]);
}

function vulnerabilityOf({ id, standing, components }: Group) {
  const { state, justification, isAccepted, text } = standing;
  const response = isAccepted ? ['will_not_fix'] : [];
  return {
    id,
    analysis: {
      state: CYCLONEDX_STATES[state],
      ...(justification !== null && { justification: JUSTIFICATIONS[justification] }),
      ...(response.length > 0 && { response }),
      detail: text,
    },
    affects: components.map((one) => ({ ref: one['bom-ref'] })),
  };
}

function statementOf({ id, standing, components }: Group) {
  const { state, justification, text } = standing;
  const about = {
    vulnerability: { name: id },
    products: components.map((one) => ({ '@id': one['bom-ref'] })),
    status: state,
  };
  switch (state) {
    case 'affected':
      return { ...about, action_statement: text };
    case 'not_affected':
      return { ...about, ...(justification !== null && { justification }), impact_statement: text };
    case 'fixed':
    case 'under_investigation':
      return { ...about, status_notes: text };
  }
}

function byRef(a: Component, b: Component): number {
  return a['bom-ref'] < b['bom-ref'] ? -1 : 1;
}
