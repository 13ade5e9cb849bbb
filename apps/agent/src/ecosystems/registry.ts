import { aptDriver } from './apt/apt.ts';
import type { EcosystemDriver } from './ecosystem.ts';

/** Every ecosystem that the agent knows. Adding one changes this file and no other. */
export const ECOSYSTEM_DRIVERS: readonly EcosystemDriver[] = [aptDriver];
