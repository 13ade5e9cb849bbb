import type { FactorMethod } from '@tidegate/protocol/factors-api';
import type { OperatorCaller } from './access.ts';
import { Refusal } from './refusal.ts';

/** Age up to which a proof of a second factor counts for acts that ask for a fresh one, in milliseconds. */
export const STEP_UP_LIFETIME_MS = 600_000;

/** What a caller has enrolled beside the password, and whether one of it was proven lately in this session. */
export interface SecondFactor {
  readonly methods: readonly FactorMethod[];
  readonly isFresh: boolean;
}

/** Of a caller who can have none, such as an API token: making one asked for the factor of who made it. */
export const NO_SECOND_FACTOR: SecondFactor = { methods: [], isFresh: false };

/** Throws `step_up_required` where the caller has a second factor and has not proven it lately. */
export function demandFreshFactor({ secondFactor }: Pick<OperatorCaller, 'secondFactor'>): void {
  if (secondFactor.methods.length === 0 || secondFactor.isFresh) return;
  throw new Refusal('step_up_required', {
    detail: 'This asks for a second factor that was proven in the last 10 minutes.',
    extra: { methods: secondFactor.methods },
  });
}
