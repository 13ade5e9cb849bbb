import { type Static, Type } from 'typebox';
import { nullable, ReportedPhrase, strict, Timestamp } from './scalars.ts';

/** Most probes of one host. */
export const PROBES_MAX = 50;
/** Most hooks that run at one installation, before and after it together. */
export const HOOKS_MAX = 40;
/** Largest body of a report of probes, in bytes. */
export const PROBE_REPORT_MAX_BYTES = 64 * 1024;

/** What root named the file of a probe or hook, without its ending. */
export const CheckName = Type.String({
  pattern: '^[a-z0-9][a-z0-9._-]{0,63}$',
  minLength: 1,
  maxLength: 64,
  description: 'name of a file of root, without its ending',
});

/** `unknown`: nobody could tell. Whatever waits for green takes it as red. */
export const PROBE_STATES = ['green', 'red', 'unknown'] as const;
export const ProbeState = Type.Enum(PROBE_STATES);
export type ProbeState = Static<typeof ProbeState>;

export const PROBE_KINDS = ['unit', 'failed_units', 'tcp', 'http', 'program'] as const;
export const ProbeKind = Type.Enum(PROBE_KINDS);
export type ProbeKind = Static<typeof ProbeKind>;

/** One probe of a host: its name and what came of it. The server never learns what it does. */
export const ProbeResult = strict({
  name: CheckName,
  /** Absent where root's file cannot be used. */
  kind: Type.Optional(ProbeKind),
  state: ProbeState,
  /** Why it is not green. */
  detail: Type.Optional(ReportedPhrase),
});
export type ProbeResult = Static<typeof ProbeResult>;

/** All probes of a host, looked at together; empty where root has named none. */
export const ProbeReport = strict({
  at: Timestamp,
  probes: Type.Array(ProbeResult, { maxItems: PROBES_MAX }),
});
export type ProbeReport = Static<typeof ProbeReport>;

export const HOOK_STAGES = ['before', 'after'] as const;
export const HookStage = Type.Enum(HOOK_STAGES);
export type HookStage = Static<typeof HookStage>;

/** A program of root's that ran at an installation. */
export const HookRun = strict({
  name: CheckName,
  stage: HookStage,
  /** `failed` also where it could not be started. */
  outcome: Type.Enum(['ok', 'failed', 'timed_out']),
  seconds: Type.Integer({ minimum: 0, maximum: 86_400 }),
});
export type HookRun = Static<typeof HookRun>;

/** The probes that an installation found before it began. */
export const ProbesAround = strict({ before: Type.Optional(ProbeReport) });
export type ProbesAround = Static<typeof ProbesAround>;

/** All probes of a host together: red if one is, else unknown if one is; `none`: root has named none. */
export const PROBES_STATES = [...PROBE_STATES, 'none'] as const;
export const ProbesState = Type.Enum(PROBES_STATES);
export type ProbesState = Static<typeof ProbesState>;

/** How long a look counts, in milliseconds. A host that checks in looks four times in that time. */
export const LOOK_MAX_AGE_MS = 24 * 3_600_000;

/** What a state is worth now. An old look says neither that all is well nor that there is nothing to look at; red stays red. */
export function knownState<S extends ProbesState>(
  state: S,
  { lookedAtMs, nowMs }: { lookedAtMs: number; nowMs: number },
): S | 'unknown' {
  return state === 'red' || nowMs - lookedAtMs <= LOOK_MAX_AGE_MS ? state : 'unknown';
}

/** The newest report of a host. `unknown` without a time: it has not reported; with one: some probe is, or the report is too old. */
export const HostProbes = Type.Object({
  state: ProbesState,
  /** Since when it is in this state without a break. */
  since: nullable(Timestamp),
  /** When the host looked. */
  at: nullable(Timestamp),
  /** `last_state`: what came of it when the host looked; `state` is what that is worth now. */
  probes: Type.Array(Type.Object({ ...ProbeResult.properties, since: Timestamp, last_state: ProbeState })),
});
export type HostProbes = Static<typeof HostProbes>;

/** All probes together. */
export function stateOfProbes(probes: readonly Pick<ProbeResult, 'state'>[]): ProbesState {
  if (probes.some(({ state }) => state === 'red')) return 'red';
  if (probes.some(({ state }) => state === 'unknown')) return 'unknown';
  return probes.length === 0 ? 'none' : 'green';
}

/** The name of a probe that a report has twice; null if it has none. */
export function twiceNamed(probes: readonly Pick<ProbeResult, 'name'>[]): string | null {
  const seen = new Set<string>();
  for (const { name } of probes) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return null;
}
