import { AuthorName, nullish, strict, Timestamp } from '@tidegate/protocol/scalars';
import {
  VEX_IMPORT_MAX,
  VEX_VERSIONS_MAX,
  VexJustification,
  VexScope,
  type VexStatementRequest,
} from '@tidegate/protocol/vex-api';
import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { schemaFault } from '../request-rules.ts';
import { packageUrl } from './package-url.ts';
import { type Defaults, packagesOf, type ReadDocument, type ReadStatement } from './read-document.ts';

export const OPENVEX_CONTEXT = 'https://openvex.dev/ns/v0.2.0';
const PRODUCTS_MAX = 10 * VEX_VERSIONS_MAX;

const Text = Type.String({ maxLength: 4_096 });
const Id = Type.String({ minLength: 1, maxLength: 2_048 });
/** What OpenVEX has no member for; its own members say the same to other readers. */
const Ours = strict({ status: Type.Enum(['not_affected', 'accepted']), scope: VexScope, ends_at: Timestamp });

const Product = strict({
  '@id': nullish(Id),
  identifiers: nullish(Type.Object({ purl: nullish(Id) })),
  hashes: nullish(Type.Unknown()),
});
const Statement = strict({
  '@id': nullish(Id),
  version: nullish(Type.Integer()),
  vulnerability: Type.Object({ name: Type.String({ minLength: 1, maxLength: 128 }) }),
  timestamp: nullish(Text),
  last_updated: nullish(Text),
  products: Type.Array(Product, { minItems: 1, maxItems: PRODUCTS_MAX }),
  status: Type.Enum(['not_affected', 'affected', 'fixed', 'under_investigation']),
  supplier: nullish(Text),
  status_notes: nullish(Text),
  justification: nullish(VexJustification),
  impact_statement: nullish(Text),
  action_statement: nullish(Text),
  action_statement_timestamp: nullish(Text),
  tidegate: nullish(Ours),
});
type Statement = Static<typeof Statement>;
/** OpenVEX 0.2.0; anything that it does not define is refused, as it could narrow a statement. */
const Document = strict({
  '@context': Type.Literal(OPENVEX_CONTEXT),
  '@id': Id,
  author: AuthorName,
  role: nullish(Text),
  timestamp: Text,
  last_updated: nullish(Text),
  version: Type.Union([Type.Integer(), Text]),
  tooling: nullish(Text),
  statements: Type.Array(Statement, { minItems: 1, maxItems: VEX_IMPORT_MAX }),
});
const documents = Compile(Document);

export function toOpenVex(
  statements: readonly VexStatementRequest[],
  about: { id: string; author: string; timestamp: string },
): Static<typeof Document> {
  return {
    '@context': OPENVEX_CONTEXT,
    '@id': `urn:uuid:${about.id}`,
    author: about.author,
    timestamp: about.timestamp,
    version: 1,
    statements: statements.map(statementOf),
  };
}

function statementOf(one: VexStatementRequest): Statement {
  const { ecosystem, distribution, package: name, versions, status, scope, ends_at } = one;
  const products = versions.map((version) => ({
    '@id': packageUrl({ ecosystem, distribution, name, version }),
  }));
  const common = {
    vulnerability: { name: one.vulnerability },
    products,
    tidegate: { status, scope, ends_at },
  };
  if (status === 'accepted') return { ...common, status: 'affected', action_statement: one.text };
  return {
    ...{ ...common, status, impact_statement: one.text },
    ...(one.justification && { justification: one.justification }),
  };
}

/** Never throws. The same statements come out of a document that `toOpenVex` wrote. */
export function readOpenVex(document: unknown, defaults: Defaults): ReadDocument {
  if (!documents.Check(document)) {
    const at = '/document';
    const fault = schemaFault(documents.Errors(document), { at, otherwise: 'is no OpenVEX 0.2.0 document' });
    return { kind: 'refused', fault };
  }
  const statements: ReadStatement[] = [];
  const skipped: { vulnerability: string; reason: string }[] = [];
  for (const [i, one] of document.statements.entries()) {
    const at = `/document/statements/${i}`;
    const vulnerability = one.vulnerability.name;
    const meaning = meaningOf(one, document.author);
    if ('reason' in meaning) {
      skipped.push({ vulnerability, reason: meaning.reason });
      continue;
    }
    const urls = one.products.map((product, k) => ({
      url: product.identifiers?.purl ?? product['@id'] ?? '',
      path: `${at}/products/${k}`,
    }));
    const read = packagesOf(urls);
    if ('message' in read) return { kind: 'refused', fault: read };
    const { scope, ends_at } = one.tidegate ?? defaults;
    for (const { name, ...where } of read.packages) {
      const request = { vulnerability, ...where, package: name, scope, ...meaning, ends_at };
      statements.push({ request, at });
    }
  }
  return { kind: 'read', author: document.author, statements, skipped };
}

type Meaning = Pick<VexStatementRequest, 'status' | 'justification' | 'text'>;

function meaningOf(one: Statement, author: string): Meaning | { readonly reason: string } {
  if (one.status === 'not_affected') {
    if (!one.justification) return { reason: 'not_affected without a justification' };
    const text = one.impact_statement ?? one.status_notes ?? '';
    return {
      ...{ status: 'not_affected', justification: one.justification },
      text: /\S/.test(text) ? text : `Stated by ${author}.`,
    };
  }
  // Nobody else's "affected" is a risk that our operators have accepted.
  if (one.status !== 'affected' || one.tidegate?.status !== 'accepted') {
    return { reason: `status ${one.status}` };
  }
  return { status: 'accepted', justification: null, text: one.action_statement ?? `Stated by ${author}.` };
}
