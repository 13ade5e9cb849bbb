import { type Static, Type } from 'typebox';

/** Ecosystems in the spelling of the wire (specification, R6). `tidegate` is the agent itself, where no other installs it. */
export const ECOSYSTEMS = ['npm', 'pypi', 'apt', 'dnf', 'tidegate'] as const;
export const Ecosystem = Type.Union([
  Type.Literal('npm'),
  Type.Literal('pypi'),
  Type.Literal('apt'),
  Type.Literal('dnf'),
  Type.Literal('tidegate'),
]);
export type Ecosystem = Static<typeof Ecosystem>;

export const Uuid = Type.String({
  pattern: '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$',
  minLength: 36,
  maxLength: 36,
  description: 'UUID, lower case',
});

const DATE =
  '\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|[12]\\d))';

/** RFC 3339 in UTC, with or without milliseconds, and a valid time: Date.parse reads every match. */
export const Timestamp = Type.String({
  pattern: `^${DATE}T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?Z$`,
  maxLength: 30,
  description: 'RFC 3339 time in UTC',
});

export const Sha256Hex = Type.String({ pattern: '^[0-9a-f]{64}$', minLength: 64, maxLength: 64 });
export const Sha512Hex = Type.String({ pattern: '^[0-9a-f]{128}$', minLength: 128, maxLength: 128 });
export const PublicKeyHex = Type.String({ pattern: '^[0-9a-f]{64}$', minLength: 64, maxLength: 64 });

/** A machine id: 1 to 128 visible ASCII characters (R1). */
export const MACHINE_ID_PATTERN = '^[\\x21-\\x7e]{1,128}$';
export const MachineId = Type.String({ pattern: MACHINE_ID_PATTERN, minLength: 1, maxLength: 128 });

/** A name chosen by people: visible characters, with spaces only between them. */
export function visibleText(maxLength: number) {
  return Type.String({
    pattern: `^(?! )(?:[^\\p{C}\\p{Z}]| ){1,${maxLength}}(?<! )$`,
    minLength: 1,
    maxLength,
    description: 'visible characters, with spaces between them',
  });
}

/** A group of hosts. */
export const GroupName = visibleText(128);

/** A host name, in which `*` stands for any characters. */
export const HostPattern = Type.String({
  pattern: '^[^\\x00-\\x1f\\x7f]{1,253}$',
  minLength: 1,
  maxLength: 253,
  description: 'host name; * stands for any characters',
});
export const OsId = Type.String({ pattern: '^[\\w.+-]{1,64}$', description: 'os id, such as debian' });

/** A name reported by hosts: no invisible characters and no bidirectional overrides. */
function reportedName(maxLength: number) {
  return Type.String({
    pattern: `^[^\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]{1,${maxLength}}$`,
    minLength: 1,
    maxLength,
    description: 'without control, invisible or bidirectional formatting characters',
  });
}
export const HostName = reportedName(253);
export const PackageName = reportedName(214);
export const PackageVersion = reportedName(256);
/** A line for people that a host reports, such as a path. */
export const ReportedLine = reportedName(1_000);
/** A short line for people that a host reports, such as why a probe is red. */
export const ReportedPhrase = reportedName(200);
/** Who wrote a document, as the document says. */
export const AuthorName = reportedName(256);
/** What a person writes, in one or more lines. */
export function writtenText(maxLength: number) {
  return Type.String({
    pattern: '^(?=[\\s\\S]*\\S)(?:[^\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]|[\\t\\n\\r])+$',
    minLength: 1,
    maxLength,
    description:
      'text with at least one visible character, without control or bidirectional formatting characters',
  });
}
export const ShortText = Type.String({ minLength: 1, maxLength: 256 });
export const AgentVersion = Type.String({ minLength: 1, maxLength: 64, pattern: '^[0-9A-Za-z.+_-]+$' });
/** A version, sequence or epoch: at most 2^53 - 1, as larger integers lose precision. */
export const Ordinal = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** Object that refuses unknown fields: requests are strict. */
export function strict<T extends Parameters<typeof Type.Object>[0]>(properties: T) {
  return Type.Object(properties, { additionalProperties: false });
}

/** What may be null instead. */
export function nullable<T extends Type.TSchema>(schema: T, options: Type.TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], options);
}

/** What may be null instead, or left out. */
export function nullish<T extends Type.TSchema>(schema: T) {
  return Type.Optional(nullable(schema));
}

/** Fingerprint of an OpenPGP primary key: 40 digits (version 4) or 64 (version 6), in lower case. */
export const KeyFingerprint = Type.String({
  pattern: '^([0-9a-f]{40}|[0-9a-f]{64})$',
  description: 'fingerprint of an OpenPGP key: 40 or 64 hexadecimal digits in lower case',
});

/** The id of an advisory or CVE, as databases write it. */
export const VulnerabilityId = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$',
  maxLength: 128,
  description: 'id of a vulnerability, such as CVE-2024-1 or GHSA-xxxx-xxxx-xxxx',
});
