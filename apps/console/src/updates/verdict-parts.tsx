import type { GateReport } from '@tidegate/protocol/approvals-api';
import type { ReactNode } from 'react';
import { FindingList, FixList, type FoundIn } from './findings.tsx';
import { countOf } from './gate-rules.ts';

type Parts = Pick<GateReport, 'introduces' | 'stays' | 'fixes' | 'fixes_complete'>;

/** The three parts of a verdict. What was not checked is never shown as none. */
export function VerdictParts({
  parts,
  isChecked,
  of,
}: {
  parts: Parts;
  isChecked: boolean;
  of?: FoundIn | undefined;
}) {
  const { introduces, stays, fixes, fixes_complete: isFixesComplete } = parts;
  return (
    <div className="space-y-4">
      <Part title="Introduced by this update" count={countOf(introduces)} isComplete={isChecked}>
        <FindingList findings={introduces} of={of} />
      </Part>
      <Part title="On the host already, and stays" count={countOf(stays)} isComplete={isChecked}>
        <FindingList findings={stays} of={of} />
      </Part>
      <Part title="Fixed by this update" count={countOf(fixes)} isComplete={isFixesComplete}>
        <FixList fixes={fixes} />
      </Part>
    </div>
  );
}

function Part(props: { title: string; count: number; isComplete: boolean; children: ReactNode }) {
  const { title, count, isComplete, children } = props;
  const unknown = count === 0 ? 'not known' : `at least ${count}`;
  return (
    <section>
      <h3 className="mb-1 font-medium">
        {title} <span className="font-normal text-muted">({isComplete ? count : unknown})</span>
      </h3>
      {count > 0 && children}
      {count === 0 && (
        <p className="text-muted">{isComplete ? 'None.' : 'Not known: packages were not checked.'}</p>
      )}
    </section>
  );
}
