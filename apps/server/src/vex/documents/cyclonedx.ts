import { AuthorName, nullish, Timestamp } from '@tidegate/protocol/scalars';
import {
  VEX_IMPORT_MAX,
  VEX_VERSIONS_MAX,
  VexJustification,
  VexScope,
  type VexStatementRequest,
} from '@tidegate/protocol/vex-api';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import { schemaFault } from '../request-rules.ts';
import { packageUrl } from './package-url.ts';
import { type Defaults, packagesOf, type ReadDocument, type ReadStatement } from './read-document.ts';

const Text = Type.String({ maxLength: 4_096 });
const Ref = Type.String({ minLength: 1, maxLength: 2_048 });

/** CycloneDX has its own list of justifications; ours are kept as properties. */
export const JUSTIFICATIONS = {
  component_not_present: 'code_not_present',
  vulnerable_code_not_present: 'code_not_present',
  vulnerable_code_not_in_execute_path: 'code_not_reachable',
  vulnerable_code_cannot_be_controlled_by_adversary: 'requires_environment',
  inline_mitigations_already_exist: 'protected_by_mitigating_control',
} as const satisfies Record<VexJustification, string>;
/** Of the others only those with an equal meaning are read. */
const READ: ReadonlyMap<string, VexJustification> = new Map([
  ['code_not_present', 'vulnerable_code_not_present'],
  ['code_not_reachable', 'vulnerable_code_not_in_execute_path'],
  ['protected_by_mitigating_control', 'inline_mitigations_already_exist'],
]);

const Property = Type.Object({ name: Type.String({ maxLength: 256 }), value: nullish(Text) });
const Vulnerability = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 128 }),
  analysis: nullish(
    Type.Object({
      state: nullish(Type.String({ maxLength: 64 })),
      justification: nullish(Type.String({ maxLength: 64 })),
      response: nullish(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 10 })),
      detail: nullish(Text),
    }),
  ),
  affects: Type.Array(Type.Object({ ref: Ref, versions: Type.Optional(Type.Unknown()) }), {
    ...{ minItems: 1, maxItems: 10 * VEX_VERSIONS_MAX },
  }),
  properties: nullish(Type.Array(Property, { maxItems: 50 })),
});
type Vulnerability = Static<typeof Vulnerability>;
/** CycloneDX 1.4 to 1.6, the members that a VEX needs. */
const Bom = Type.Object({
  bomFormat: Type.Literal('CycloneDX'),
  specVersion: Type.Enum(['1.4', '1.5', '1.6']),
  version: nullish(Type.Integer()),
  serialNumber: nullish(Text),
  metadata: nullish(
    Type.Object({
      timestamp: nullish(Text),
      authors: nullish(Type.Array(Type.Object({ name: nullish(AuthorName) }))),
      supplier: nullish(Type.Object({ name: nullish(AuthorName) })),
    }),
  ),
  components: nullish(
    Type.Array(Type.Object({ 'bom-ref': nullish(Ref), purl: nullish(Ref) }), {
      maxItems: VEX_IMPORT_MAX * VEX_VERSIONS_MAX,
    }),
  ),
  vulnerabilities: Type.Array(Vulnerability, { minItems: 1, maxItems: VEX_IMPORT_MAX }),
});
const boms = Compile(Bom);

export function toCycloneDx(
  statements: readonly VexStatementRequest[],
  about: { id: string; author: string; timestamp: string },
): object {
  const packages = new Map(statements.flatMap(componentsOf).map((one) => [one.purl, one]));
  return {
    ...{ bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: `urn:uuid:${about.id}`, version: 1 },
    metadata: { timestamp: about.timestamp, authors: [{ name: about.author }] },
    components: [...packages.values()],
    vulnerabilities: statements.map(vulnerabilityOf),
  };
}

function componentsOf(one: VexStatementRequest) {
  const { ecosystem, distribution, package: name, versions } = one;
  return versions.map((version) => {
    const purl = packageUrl({ ecosystem, distribution, name, version });
    return { type: 'library', 'bom-ref': purl, name, version, purl };
  });
}

function vulnerabilityOf(one: VexStatementRequest): Vulnerability {
  const { status, justification, scope, ends_at, text } = one;
  const analysis =
    status === 'accepted' || justification === null
      ? { state: 'exploitable', response: ['will_not_fix'], detail: text }
      : { state: 'not_affected', justification: JUSTIFICATIONS[justification], detail: text };
  const ours = { status, scope: JSON.stringify(scope), ends_at, ...(justification && { justification }) };
  return {
    id: one.vulnerability,
    analysis,
    affects: componentsOf(one).map(({ purl }) => ({ ref: purl })),
    properties: Object.entries(ours).map(([name, value]) => ({ name: `tidegate:${name}`, value })),
  };
}

/** Never throws. The same statements come out of a document that `toCycloneDx` wrote. */
export function readCycloneDx(document: unknown, defaults: Defaults): ReadDocument {
  if (!boms.Check(document)) {
    const at = '/document';
    const fault = schemaFault(boms.Errors(document), { at, otherwise: 'is no CycloneDX VEX' });
    return { kind: 'refused', fault };
  }
  const { metadata, components, vulnerabilities } = document;
  const author = metadata?.authors?.[0]?.name ?? metadata?.supplier?.name ?? 'unknown';
  const purls = new Map(
    (components ?? []).map(({ 'bom-ref': ref, purl }) => [ref ?? '', purl ?? ''] as const),
  );
  const statements: ReadStatement[] = [];
  const skipped: { vulnerability: string; reason: string }[] = [];
  for (const [i, one] of vulnerabilities.entries()) {
    const at = `/document/vulnerabilities/${i}`;
    const meaning = meaningOf(one, author);
    if ('reason' in meaning) {
      skipped.push({ vulnerability: one.id, reason: meaning.reason });
      continue;
    }
    // A range of versions would be stretched to the one that the reference names, or the other way round.
    const ranged = one.affects.findIndex(({ versions }) => versions !== undefined);
    if (ranged !== -1) {
      const message = 'is not supported: name each version as a component of its own';
      return {
        kind: 'refused',
        fault: { path: `${at}/affects/${ranged}/versions`, message },
      };
    }
    const read = packagesOf(
      one.affects.map(({ ref }, k) => ({
        url: purls.get(ref) ?? ref,
        path: `${at}/affects/${k}/ref`,
      })),
    );
    if ('message' in read) return { kind: 'refused', fault: read };
    const terms = termsOf(one, defaults);
    if (!terms) {
      const message = 'has properties of Tidegate that cannot be read';
      return { kind: 'refused', fault: { path: `${at}/properties`, message } };
    }
    const { scope, ends_at } = terms;
    for (const { name, ...where } of read.packages) {
      const request = { vulnerability: one.id, ...where, package: name, scope, ...meaning, ends_at };
      statements.push({ request, at });
    }
  }
  return { kind: 'read', author, statements, skipped };
}

type Meaning = Pick<VexStatementRequest, 'status' | 'justification' | 'text'>;

function meaningOf(one: Vulnerability, author: string): Meaning | { readonly reason: string } {
  const { state, justification, detail } = one.analysis ?? {};
  const text = detail && /\S/.test(detail) ? detail : `Stated by ${author}.`;
  if (state === 'not_affected') {
    const own = ourProperty(one, 'justification');
    const known = Value.Check(VexJustification, own) ? own : READ.get(justification ?? '');
    if (!known) return { reason: `not_affected with the justification ${justification ?? 'none'}` };
    return { status: 'not_affected', justification: known, text };
  }
  if (state === 'exploitable' && ourProperty(one, 'status') === 'accepted') {
    return { status: 'accepted', justification: null, text };
  }
  return { reason: `state ${state ?? 'none'}` };
}

/** Its own scope and end, else the importer's; null where its own cannot be read: others could be wider. */
function termsOf(one: Vulnerability, defaults: Defaults): Defaults | null {
  const text = ourProperty(one, 'scope');
  const ends_at = ourProperty(one, 'ends_at');
  if (text === undefined && ends_at === undefined) return defaults;
  const scope = parsedJson(text);
  return Value.Check(VexScope, scope) && Value.Check(Timestamp, ends_at) ? { scope, ends_at } : null;
}

function ourProperty({ properties }: Vulnerability, name: string): string | undefined {
  return properties?.find((one) => one.name === `tidegate:${name}`)?.value ?? undefined;
}

function parsedJson(text: string | undefined): unknown {
  if (text === undefined) return null;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
