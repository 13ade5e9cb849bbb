import { Link } from '@tanstack/react-router';
import type { BulkApproveAnswer, BulkBlocked } from '@tidegate/protocol/approvals-api';
import { Ban, Check, CircleDashed, Minus } from 'lucide-react';
import type { ReactNode } from 'react';
import { RegisterLinks } from '../origins/register-links.tsx';
import { Badge, type BadgeTone } from '../ui/badge.tsx';
import { type Known, outcomeText } from './bulk-rules.ts';
import { NameOf } from './name-of.tsx';
import { REASONS, SKIP_REASONS, STOP_TITLES } from './update-words.ts';
import { VerdictParts } from './verdict-parts.tsx';

/** The result of a bulk request. Blocked updates are decided one at a time, each with its own reason (A6). */
export function BulkResult({ answer, known }: { answer: BulkApproveAnswer; known: Known }) {
  const { approved, awaiting_plan: waiting, blocked, skipped } = answer;
  return (
    <div className="space-y-4">
      <p role="status" className="font-medium">
        {outcomeText(answer)}
      </p>
      {blocked.length > 0 && (
        <Section title="Blocked" count={blocked.length} tone="bad" icon={<Ban />}>
          <p className="mb-2 text-muted">
            These were not approved. Decide each on its own page, with its own reason.
          </p>
          <ul className="divide-y divide-line rounded-lg border border-line">
            {blocked.map((one) => (
              <BlockedRow key={one.update_id} one={one} known={known} />
            ))}
          </ul>
        </Section>
      )}
      {skipped.length > 0 && (
        <Section title="Skipped" count={skipped.length} tone="neutral" icon={<Minus />}>
          <ul>
            {skipped.map(({ update_id: id, code }) => (
              <li key={id}>
                <UpdateLink id={id} known={known} /> {SKIP_REASONS[code] ?? code}
              </li>
            ))}
          </ul>
        </Section>
      )}
      {waiting.length > 0 && (
        <Section title="Waiting for a plan" count={waiting.length} tone="accent" icon={<CircleDashed />}>
          <p className="text-muted">
            The hosts are asked what these would change. Those that are clear are then approved automatically;
            the others return to pending.
          </p>
        </Section>
      )}
      <Section title="Approved" count={approved.length} tone="good" icon={<Check />}>
        <p className="text-muted">
          {approved.length === 0
            ? 'No update was approved.'
            : 'Each host fetches its approvals at its next check-in.'}
        </p>
      </Section>
    </div>
  );
}

function Section(props: {
  title: string;
  count: number;
  tone: BadgeTone;
  icon: ReactNode;
  children: ReactNode;
}) {
  return (
    <section>
      <h3 className="mb-1.5 flex items-center gap-2 font-semibold">
        {props.title}
        <Badge tone={props.tone} icon={props.icon}>
          {props.count.toLocaleString('en')}
        </Badge>
      </h3>
      {props.children}
    </section>
  );
}

function BlockedRow({ one, known }: { one: BulkBlocked; known: Known }) {
  const { package: named, blocked_by: by, reason, age, divergences, update_id: id } = one;
  const hostname = known.get(id)?.hostname;
  return (
    <li>
      <details>
        <summary className="min-h-8 px-3 py-1.5">
          <span className="font-medium">
            <bdi>{named.name}</bdi> <bdi>{named.version}</bdi>
          </span>
          {hostname && (
            <span className="text-muted">
              {' '}
              on <bdi>{hostname}</bdi>
            </span>
          )}
          <span className="text-bad"> · {STOP_TITLES[by]}</span>
        </summary>
        <div className="space-y-2 px-3 pb-3">
          <p>{REASONS[reason]}</p>
          {one.introduces.length + one.stays.length > 0 && (
            <VerdictParts parts={one} isChecked={one.unchecked === null} />
          )}
          {age && age.violations.length > 0 && (
            <ul>
              {age.violations.map((one) => (
                <li key={`${one.package}@${one.version}`} className="mono">
                  <bdi>{one.package}</bdi> <bdi>{one.version}</bdi>:{' '}
                  {one.age_hours === null ? 'age not known' : `${one.age_hours} h old`}
                </li>
              ))}
            </ul>
          )}
          {one.third_party.length > 0 && (
            <div>
              <p>From {one.third_party.map(({ origin }) => origin).join('; ')}.</p>
              <RegisterLinks packages={one.third_party} ecosystem={named.ecosystem} />
            </div>
          )}
          {divergences.map((one) => (
            <p key={one.divergence_id} className="mono break-all">
              <bdi>{one.package}</bdi> <bdi>{one.version}</bdi>: {one.algorithm} {one.hash}
            </p>
          ))}
          <Link to="/updates/$id" params={{ id }}>
            Open <bdi>{named.name}</bdi> to decide
          </Link>
        </div>
      </details>
    </li>
  );
}

function UpdateLink({ id, known }: { id: string; known: Known }) {
  return (
    <Link to="/updates/$id" params={{ id }}>
      <NameOf id={id} known={known} />
    </Link>
  );
}
