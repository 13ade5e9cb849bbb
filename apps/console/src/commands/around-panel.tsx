import type { CommandItem } from '@tidegate/protocol/commands-api';
import type { HookRun, ProbeResult } from '@tidegate/protocol/probes';
import { CircleCheck, CircleHelp, TriangleAlert } from 'lucide-react';
import { Badge } from '../ui/badge.tsx';
import { Panel } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { beforeText, HOOK_OUTCOMES, tookText } from './around-rules.ts';

/** The probes and programs that root has named around an installation, and what came of them. */
export function AroundPanel({ command: { probes, hooks } }: { command: CommandItem }) {
  if (probes === null && (hooks === null || hooks.length === 0)) return null;
  return (
    <Panel
      title="Root's own checks"
      aside={
        probes?.before && (
          <span className="text-muted">
            seen <Time at={probes.before.at} />
          </span>
        )
      }
    >
      <div className="space-y-3">
        {probes && (
          <div className="space-y-1">
            <p>{beforeText(probes)}</p>
            <ul aria-label="Probes before the installation" className="space-y-1">
              {probes.before?.probes.map((probe) => (
                <Probe key={probe.name} probe={probe} />
              ))}
            </ul>
          </div>
        )}
        {hooks && hooks.length > 0 && (
          <div className="space-y-1">
            <ul aria-label="Hooks" className="space-y-1">
              {hooks.map((hook) => (
                <Hook key={`${hook.stage} ${hook.name}`} hook={hook} />
              ))}
            </ul>
            <p className="text-muted">What they print is part of the output.</p>
          </div>
        )}
      </div>
    </Panel>
  );
}

function Probe({ probe: { name, state, detail } }: { probe: ProbeResult }) {
  return (
    <li className="min-w-0">
      <p className="flex flex-wrap items-center gap-x-2">
        <span className="font-medium break-all">{name}</span>
        {state === 'green' && (
          <Badge tone="good" icon={<CircleCheck />}>
            green
          </Badge>
        )}
        {state === 'red' && (
          <Badge tone="bad" icon={<TriangleAlert />}>
            red
          </Badge>
        )}
        {state === 'unknown' && (
          <Badge tone="unknown" icon={<CircleHelp />}>
            unknown
          </Badge>
        )}
      </p>
      {detail !== undefined && <p className="break-words text-muted">{detail}</p>}
    </li>
  );
}

function Hook({ hook: { name, stage, outcome, seconds } }: { hook: HookRun }) {
  return (
    <li className="flex flex-wrap items-center gap-x-2">
      <span className="text-muted">{stage}</span>
      <span className="font-medium break-all">{name}</span>
      <Badge
        tone={outcome === 'ok' ? 'good' : 'bad'}
        icon={outcome === 'ok' ? <CircleCheck /> : <TriangleAlert />}
      >
        {HOOK_OUTCOMES[outcome]}
      </Badge>
      <span className="text-muted">{tookText(seconds)}</span>
    </li>
  );
}
