import { useQuery } from '@tanstack/react-query';
import { counted } from '@tidegate/protocol/count-words';
import type { ReportItem } from '@tidegate/protocol/inventory-api';
import type { PackageCondition } from '@tidegate/protocol/package-condition';
import { CircleCheck, CircleHelp, Wrench } from 'lucide-react';
import { Badge } from '../ui/badge.tsx';
import { Fold } from '../ui/fold.tsx';
import { Panel } from '../ui/page.tsx';
import { ErrorPanel, Skeleton } from '../ui/states.tsx';
import { Time } from '../ui/time.tsx';
import { MANAGERS } from './package-managers.ts';
import { reportsQuery } from './reports-query.ts';

/** The packages that are broken, and the files that wait for a person; what that means stands first on the page. */
export function ConditionPanel({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useQuery(reportsQuery(id));
  const reports = (data?.reports ?? []).filter(
    ({ ecosystem, condition }) => condition || isOfSystem(ecosystem),
  );
  if (data && reports.length === 0) return null;
  return (
    <Panel id="condition" title="Condition of the packages">
      {error && <ErrorPanel error={error} retry={() => void refetch()} />}
      {isPending && !error && <Skeleton rows={2} />}
      <ul className="space-y-3">
        {reports.map(({ ecosystem, condition, scanned_at }) => (
          <li key={ecosystem} className="space-y-2">
            <p className="flex flex-wrap items-center gap-x-2">
              <strong>{MANAGERS[ecosystem]}</strong>
              <Word condition={condition} />
              <span className="text-muted">
                as of <Time at={scanned_at} />
              </span>
            </p>
            {condition && <Condition condition={condition} />}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** npm and PyPI have neither: their packages are folders of their own. */
function isOfSystem(ecosystem: ReportItem['ecosystem']): boolean {
  return ecosystem === 'apt' || ecosystem === 'dnf';
}

function Word({ condition }: { condition: PackageCondition | null }) {
  if (condition === null)
    return (
      <Badge tone="unknown" icon={<CircleHelp />}>
        not known
      </Badge>
    );
  if (condition.trouble !== null)
    return (
      <Badge tone="bad" icon={<Wrench />}>
        has to be mended
      </Badge>
    );
  return (
    <Badge tone="good" icon={<CircleCheck />}>
      sound
    </Badge>
  );
}

function Condition({ condition }: { condition: PackageCondition }) {
  const { broken, more_broken: moreBroken, left_files: left } = condition;
  const leftCount = left.length + condition.more_left_files;
  return (
    <>
      {broken.length > 0 && (
        <ul
          aria-label="Broken packages"
          className="space-y-1 rounded-md bg-bad-soft px-3 py-2 break-words text-bad"
        >
          {broken.map(({ name, version, arch, state }) => (
            <li key={`${name}:${arch ?? ''}:${version}`}>
              <span className="mono">
                <bdi>{name}</bdi> <bdi>{version}</bdi>
              </span>
              : {state}
            </li>
          ))}
          {moreBroken > 0 && <li>{moreBroken.toLocaleString('en')} more</li>}
        </ul>
      )}
      {leftCount > 0 && (
        <Fold summary={`${counted(leftCount, 'configuration file')} left beside changed ones`}>
          <p className="text-muted">
            An update kept the file that was changed on this host and left its own beside it, or the other way
            round. Compare them, and remove what is not needed.
          </p>
          <ul aria-label="Files left beside changed ones" className="mono">
            {left.map(({ path, package: name }) => (
              <li key={path} className="break-all">
                {path}
                {name !== undefined && (
                  <span className="text-muted">
                    {' '}
                    (<bdi>{name}</bdi>)
                  </span>
                )}
              </li>
            ))}
          </ul>
          {condition.more_left_files > 0 && <p>{condition.more_left_files.toLocaleString('en')} more</p>}
        </Fold>
      )}
      {condition.unread_folders > 0 && (
        <p className="text-muted">
          What was left in {counted(condition.unread_folders, 'folder')} is not known: the agent may not read
          them.
        </p>
      )}
    </>
  );
}
