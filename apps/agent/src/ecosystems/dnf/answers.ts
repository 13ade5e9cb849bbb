import { nullable, strict } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, type TSchema, Type } from 'typebox';
import { Check } from 'typebox/value';
import type { ProgramResult } from '../../platform/run-program.ts';
import type { Parsed } from './places.ts';

/** Maximum number of updates and packages in one answer. */
const LIST_MAX = 50_000;
const REASON_MAX_CHARS = 2_000;

const Name = Type.String({ pattern: '^[A-Za-z0-9_][A-Za-z0-9_.+-]*$', maxLength: 214 });
const Part = Type.String({ pattern: '^[A-Za-z0-9._+~^]+$', maxLength: 128 });
const Epoch = Type.String({ pattern: '^(0|[1-9][0-9]{0,9})$' });
const Arch = Type.String({ pattern: '^[a-z0-9_]+$', maxLength: 32 });
const SourceRpm = Type.String({ pattern: '^[A-Za-z0-9_.+~^-]+\\.(no)?src\\.rpm$', maxLength: 512 });
const RepositoryId = Type.String({ pattern: '^[A-Za-z0-9_.:@-]+$', maxLength: 256 });
const Text = Type.String({ maxLength: 4_096 });
const Checksum = Type.String({ pattern: '^([0-9a-f]{2}){16,64}$' });

/** A package as dnf knows it. */
const Described = {
  name: Name,
  epoch: Epoch,
  version: Part,
  release: Part,
  arch: Arch,
  source_rpm: nullable(SourceRpm),
  /** The epoch of the package built from this source under the source's name, if there is one. */
  source_epoch: nullable(Epoch),
  /** Null for what is installed. */
  repository: nullable(RepositoryId),
  size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  /** From the repository's metadata, in hex: its length identifies the algorithm. */
  checksum: nullable(Checksum),
};
export const DnfPackage = strict(Described);
export type DnfPackage = Static<typeof DnfPackage>;

const Coming = strict({ ...Described, url: nullable(Type.String({ minLength: 1, maxLength: 4_096 })) });

/** Files that the repositories have for one version: mostly none or one. */
const LISTED_MAX = 100;
const Going = strict({
  ...Described,
  /** The files of this version in the repositories, each different one once. */
  listed: Type.Array(strict({ size: Described.size, checksum: Checksum }), { maxItems: LISTED_MAX }),
});

const Transaction = {
  ok: Type.Literal(true),
  coming: Type.Array(Coming, { maxItems: LIST_MAX }),
  going: Type.Array(Going, { maxItems: LIST_MAX }),
};
export const TransactionAnswer = strict(Transaction);
export type TransactionAnswer = Static<typeof TransactionAnswer>;

/** A transaction, or what no repository has of it: then the transaction is empty. */
export const UndoAnswer = strict({
  ...Transaction,
  lost: Type.Array(strict({ name: Name, evr: Text }), { maxItems: LIST_MAX }),
});

export const LookUpAnswer = strict({
  ok: Type.Literal(true),
  found: Type.Array(Coming, { maxItems: LIST_MAX }),
});

const Refused = strict({ ok: Type.Literal(false), reason: Text });
type Refused = Static<typeof Refused>;

/** A transaction, or why there is none, for each set of the request, in its order. */
export const PlansAnswer = strict({
  ok: Type.Literal(true),
  plans: Type.Array(Type.Union([TransactionAnswer, Refused]), { maxItems: LIST_MAX }),
});

export const ScanAnswer = strict({
  ok: Type.Literal(true),
  faults: Type.Array(Text, { maxItems: LIST_MAX }),
  /** Whether an rpm transaction is running. */
  locked: Type.Boolean(),
  updates: Type.Array(
    strict({ from: DnfPackage, to: DnfPackage, security: Type.Boolean(), held: Type.Boolean() }),
    { maxItems: LIST_MAX },
  ),
  /** Installed in more than one version, which is not meant; absent: not looked up (dnf 5). */
  doubled: Type.Optional(Type.Array(strict({ name: Text, evr: Text, arch: Text }), { maxItems: LIST_MAX })),
  /** The repository of each installed package, if dnf recorded it. */
  origins: Type.Array(strict({ name: Text, evr: Text, arch: Text, repository: nullable(Text) }), {
    maxItems: LIST_MAX,
  }),
});
export type ScanAnswer = Static<typeof ScanAnswer>;

export const AgesAnswer = strict({
  ok: Type.Literal(true),
  /** When each enabled repository's metadata were last confirmed as current, in seconds since 1970. */
  repositories: Type.Array(strict({ id: RepositoryId, fetched_at: nullable(Type.Integer({ minimum: 0 })) }), {
    maxItems: LIST_MAX,
  }),
});
export type AgesAnswer = Static<typeof AgesAnswer>;

export const FetchAnswer = strict({ ok: Type.Literal(true) });

/** Parses the JSON document of an answer, or returns the reason. Nothing of an invalid answer is used. */
export function parseAnswer<T extends TSchema>(run: ProgramResult, schema: T): Parsed<Static<T>> {
  if (!run.ok) return { ok: false, reason: run.detail };
  const parsed = parseStrictJson(run.stdout);
  if (!parsed.ok) return { ok: false, reason: 'the answer of dnf cannot be parsed' };
  if (Check(Refused, parsed.value)) return refusalOf(parsed.value);
  if (!Check(schema, parsed.value)) return { ok: false, reason: 'the answer of dnf has an unknown format' };
  return { ok: true, value: parsed.value };
}

/** A refusal in one line. */
export function refusalOf({ reason }: Refused): { ok: false; reason: string } {
  const line = reason.trim().replaceAll(/\s*\n\s*/g, '; ');
  return { ok: false, reason: line.slice(0, REASON_MAX_CHARS) };
}
