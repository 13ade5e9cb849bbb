import { CircleCheck, CircleDashed, CircleHelp, CircleMinus, OctagonX, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';
import { Term } from '../glossary/term.tsx';
import { RegisterLinks } from '../origins/register-links.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { CopyText } from '../ui/copy-text.tsx';
import { Facts, Panel } from '../ui/page.tsx';
import { Time } from '../ui/time.tsx';
import { type Check, type CheckState, checklistOf } from './gate-rules.ts';
import type { UpdateView } from './update-view.ts';

const LOOKS: Readonly<Record<CheckState, { tone: BadgeTone; icon: ReactNode }>> = {
  passes: { tone: 'good', icon: <CircleCheck /> },
  stops: { tone: 'bad', icon: <OctagonX /> },
  unchecked: { tone: 'bad', icon: <CircleHelp /> },
  vulnerable: { tone: 'bad', icon: <TriangleAlert /> },
  found: { tone: 'warn', icon: <TriangleAlert /> },
  unknown: { tone: 'unknown', icon: <CircleHelp /> },
  not_judged: { tone: 'neutral', icon: <CircleDashed /> },
  off: { tone: 'neutral', icon: <CircleMinus /> },
};

/** The gate's checks with their evidence, and the age of the data it used. */
export function GateChecklist({ update, aside }: { update: UpdateView; aside?: ReactNode }) {
  const { gate } = update;
  return (
    <Panel title={<Term of="gate">The gate</Term>} aside={aside}>
      <ul aria-label="Checks" className="divide-y divide-line">
        {checklistOf(update).map((check) => (
          <CheckLine key={check.id} check={check}>
            {check.id === 'third_party' && gate && (
              <RegisterLinks packages={gate.third_party} ecosystem={update.ecosystem} />
            )}
          </CheckLine>
        ))}
      </ul>
      {gate && (
        <div className="mt-3 border-t border-line pt-3">
          <h3 className="mb-1.5 font-medium">Age of the data</h3>
          <Facts
            facts={[
              ['Checked', <Time key="at" at={gate.checked_at} empty="not yet" />],
              ['Source', gate.source ?? <Unknown key="source" />],
              [
                'Snapshot',
                gate.snapshot ? <CopyText key="s" text={gate.snapshot} /> : <Unknown key="none" />,
              ],
            ]}
          />
        </div>
      )}
    </Panel>
  );
}

function CheckLine({
  check: { title, state, word, evidence },
  children,
}: {
  check: Check;
  children?: ReactNode;
}) {
  const { tone, icon } = LOOKS[state];
  return (
    <li className="grid grid-cols-[9.5rem_1fr] gap-x-3 py-2 first:pt-0 last:pb-0 max-sm:grid-cols-1">
      <span>
        <Badge tone={tone} icon={icon}>
          {word}
        </Badge>
      </span>
      <div className="min-w-0">
        <p className="font-medium">{title}</p>
        <p className="break-words text-muted">{evidence}</p>
        {children}
      </div>
    </li>
  );
}

function Unknown() {
  return <span className="text-muted">not known</span>;
}
