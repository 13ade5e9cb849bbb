import { ServiceUnit } from '@tidegate/protocol/reboots';
import { RestartReport } from '@tidegate/protocol/restarts';
import { Check } from 'typebox/value';

/** The services that a stored report says can be restarted by themselves; none of a host that has not reported. */
export function staleUnits(report: string | undefined): string[] {
  const parsed: unknown = JSON.parse(report ?? 'null');
  if (!Check(RestartReport, parsed)) return [];
  return parsed.services.stale.flatMap(({ kind, name }) =>
    kind === 'service' && Check(ServiceUnit, name) ? name : [],
  );
}
