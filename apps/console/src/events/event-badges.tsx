import type { Severity } from '@tidegate/protocol/event-types';
import { CircleX, Info, OctagonAlert, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Badge, type BadgeTone } from '../ui/badge.tsx';

const SEVERITIES: Readonly<Record<Severity, { tone: BadgeTone; icon: ReactNode }>> = {
  info: { tone: 'neutral', icon: <Info /> },
  warning: { tone: 'warn', icon: <TriangleAlert /> },
  error: { tone: 'bad', icon: <CircleX /> },
  critical: { tone: 'bad', icon: <OctagonAlert /> },
};

export function EventSeverityBadge({ severity }: { severity: Severity }) {
  const { tone, icon } = SEVERITIES[severity] ?? SEVERITIES.info;
  return (
    <Badge tone={tone} icon={icon}>
      {severity}
    </Badge>
  );
}
