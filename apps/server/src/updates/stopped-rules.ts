import type { VulnerabilityPolicy } from '@tidegate/protocol/vulnerability-policy-api';

/** The values of `stopped_under` of the updates that a policy stops: what `introduced` stops, `any` stops as well. */
export const STOPPED_BY: Readonly<Record<VulnerabilityPolicy, readonly string[]>> = {
  introduced: ['introduced'],
  any: ['introduced', 'any'],
};
