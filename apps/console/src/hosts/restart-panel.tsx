import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { HostRestarts, RestartNeed, RestartReport, StaleService } from '@tidegate/protocol/restarts';
import { CircleCheck, CircleHelp, RotateCw } from 'lucide-react';
import type { ReactNode } from 'react';
import { oneQuery } from '../api/queries.ts';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { RestartActs } from './restart-acts.tsx';
import { actOf, kernelText, REBOOT_WORDS, rebootReasons, SERVICES_WORDS } from './restart-rules.ts';

const SHAPES: Readonly<Record<RestartNeed, { tone: BadgeTone; icon: ReactNode }>> = {
  needed: { tone: 'warn', icon: <RotateCw /> },
  not_needed: { tone: 'good', icon: <CircleCheck /> },
  unknown: { tone: 'unknown', icon: <CircleHelp /> },
};

/** Which services run replaced files and whether the host needs a reboot, with the evidence. */
export function RestartPanel({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useQuery(
    oneQuery<HostRestarts>('hosts', `/api/v1/agents/${id}/restarts`),
  );
  const report = data?.report ?? null;
  return (
    <Panel id="restarts" title="Restarts" aside={report && <Aside at={report.observed_at} />}>
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton rows={2} />}
      {data && report === null && (
        <p className="text-muted">
          Not known: the host has not reported since its last boot. It does so within minutes of its first
          check-in.
        </p>
      )}
      {report && <RestartEvidence report={report} />}
      {data && <RestartActs id={id} report={report} />}
      <p className="mt-3">
        To restart many hosts, a few at a time: <Link to="/reboots">Reboots</Link>.
      </p>
    </Panel>
  );
}

/** The verdicts of a report, and what they rest on. */
export function RestartEvidence({ report: { services, reboot } }: { report: RestartReport }) {
  const reasons = rebootReasons(reboot);
  return (
    <div className="space-y-3">
      <Facts
        facts={[
          ['Reboot', <Need key="reboot" need={reboot.need} words={REBOOT_WORDS} />],
          ...(reasons.length === 0 ? [] : [['Why', <Lines key="why" lines={reasons} />] as const]),
          ['Running kernel', kernelText(reboot.running_kernel)],
          ['Next kernel', kernelText(reboot.next_kernel)],
          ['Services', <Need key="services" need={services.need} words={SERVICES_WORDS} />],
          ...(services.reason === undefined ? [] : [['Not looked at', services.reason] as const]),
        ]}
      />
      {services.stale.length > 0 && (
        <ul className="space-y-2" aria-label="Services that run replaced files">
          {services.stale.map((service) => (
            <Stale key={`${service.kind} ${service.name}`} service={service} />
          ))}
        </ul>
      )}
      {services.more_services > 0 && (
        <p className="text-muted">{services.more_services.toLocaleString('en')} more</p>
      )}
    </div>
  );
}

function Stale({ service }: { service: StaleService }) {
  const { name, files, more_files: more } = service;
  return (
    <li className="min-w-0 break-words">
      <span className="font-medium">{name}</span> <span className="text-muted">{actOf(service)}</span>
      <ul className="text-muted">
        {files.map((file) => (
          <li key={file.path}>
            {file.path}
            {file.package !== undefined && ` (${isolated(file.package)})`}
          </li>
        ))}
        {more > 0 && <li>{more.toLocaleString('en')} more files</li>}
      </ul>
    </li>
  );
}

function Need({ need, words }: { need: RestartNeed; words: Readonly<Record<RestartNeed, string>> }) {
  const { tone, icon } = SHAPES[need];
  return (
    <Badge tone={tone} icon={icon}>
      {words[need]}
    </Badge>
  );
}

function Lines({ lines }: { lines: readonly string[] }) {
  return (
    <>
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </>
  );
}

function Aside({ at }: { at: string }) {
  return (
    <span className="text-muted">
      as of <Time at={at} />
    </span>
  );
}
