import { aptDriver } from './apt/apt.ts';
import { dnfDriver } from './dnf/dnf.ts';
import type { EcosystemDriver } from './ecosystem.ts';
import { npmDriver } from './npm/npm.ts';
import { pypiDriver } from './pypi/pypi.ts';
import { tidegateDriver } from './tidegate/own-driver.ts';

/** Every ecosystem that the agent knows. Adding one changes this file and no other. */
export const ECOSYSTEM_DRIVERS: readonly EcosystemDriver[] = [
  aptDriver,
  dnfDriver,
  npmDriver,
  pypiDriver,
  tidegateDriver,
];
