import { PROBES_MAX } from '@tidegate/protocol/probes';
import { strict } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { type CheckFolder, folderBeside, readCheckFolder } from './check-folder.ts';

/** Time that one probe has unless its file says otherwise, in seconds. */
export const PROBE_SECONDS = 10;

const common = {
  v: Type.Literal(1),
  timeout_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 60 })),
};

export const ProgramPath = Type.String({ pattern: '^/[^\\x00-\\x1f\\x7f]+$', maxLength: 1_000 });
export const ProgramArgs = Type.Array(Type.String({ pattern: '^[^\\x00]*$', maxLength: 1_000 }), {
  maxItems: 32,
});

/** A probe as root writes it down (docs/operator-guide.md, "Probes and hooks"). */
export const ProbeFile = Type.Union([
  strict({
    ...common,
    kind: Type.Literal('unit'),
    unit: Type.String({ pattern: '^[A-Za-z0-9:_.@\\\\][A-Za-z0-9:_.@\\\\-]*$', maxLength: 255 }),
  }),
  strict({ ...common, kind: Type.Literal('failed_units') }),
  strict({
    ...common,
    kind: Type.Literal('tcp'),
    host: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9:.-]+$', maxLength: 253 })),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
  }),
  strict({
    ...common,
    kind: Type.Literal('http'),
    url: Type.String({ pattern: '^https?://[^\\s]+$', maxLength: 2_000 }),
    /** 200 to 299 unless given. */
    status: Type.Optional(
      Type.Array(Type.Integer({ minimum: 100, maximum: 599 }), { minItems: 1, maxItems: 20 }),
    ),
    body_contains: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
  }),
  strict({
    ...common,
    kind: Type.Literal('program'),
    program: ProgramPath,
    args: Type.Optional(ProgramArgs),
  }),
]);
export type ProbeFile = Static<typeof ProbeFile>;

/** The probes that root has named on this host: `probes.d` beside the policy. They are read again each time. */
export function readProbes(policy: PolicyPlace): CheckFolder<ProbeFile> {
  return readCheckFolder(folderBeside(policy, 'probes.d'), ProbeFile, PROBES_MAX);
}
