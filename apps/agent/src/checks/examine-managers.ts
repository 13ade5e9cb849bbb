import type { EcosystemDriver, HostPaths } from '../ecosystems/ecosystem.ts';
import { type Finding, faulty, sound } from './finding.ts';

/**
 * Which package managers there are, and one finding for each with old package lists or broken packages: `ailing` makes it,
 * as neither keeps a host from being enrolled.
 */
export async function examineManagers(
  drivers: readonly EcosystemDriver[],
  { paths, nowMs, ailing = faulty }: { paths: HostPaths; nowMs: number; ailing?: typeof faulty },
): Promise<Finding[]> {
  const present: EcosystemDriver[] = [];
  for (const driver of drivers) if (await driver.present(paths)) present.push(driver);
  const check = 'package managers';
  if (present.length === 0) {
    const wanted = drivers.map(({ ecosystem }) => ecosystem).join(', ');
    return [faulty(check, `none was found: the agent works with ${wanted}`)];
  }
  const findings = [sound(check, present.map(({ ecosystem }) => ecosystem).join(', '))];
  for (const driver of present) {
    const { staleness } = await driver.examineLists(paths, nowMs);
    if (staleness !== null) findings.push(ailing(`${driver.ecosystem} sources`, staleness));
    const trouble = (await driver.findTrouble?.(paths)) ?? null;
    if (trouble === null) continue;
    const detail = `${trouble.reason}: ${trouble.detail}; nothing is installed until then`;
    findings.push(ailing(`${driver.ecosystem} packages`, detail));
  }
  return findings;
}
