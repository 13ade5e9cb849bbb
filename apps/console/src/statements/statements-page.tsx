import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { isolated } from '@tidegate/protocol/isolated';
import type { VexFormat, VexScope, VexStatement } from '@tidegate/protocol/vex-api';
import { Ban, Download, Plus, Upload } from 'lucide-react';
import { useMemo, useState } from 'react';
import { get, remove } from '../api/client.ts';
import { useListSearch } from '../api/list-search.ts';
import { listQuery, queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Term } from '../glossary/term.tsx';
import { MANAGERS } from '../hosts/package-managers.ts';
import { withStepUp } from '../login/step-up.tsx';
import { Button, IconButton } from '../ui/button.tsx';
import { ByWhom } from '../ui/by-whom.tsx';
import type { Column } from '../ui/data-table.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { ListTable } from '../ui/list-table.tsx';
import { Menu } from '../ui/menu.tsx';
import { Page } from '../ui/page.tsx';
import { saveJson } from '../ui/save-file.ts';
import { Standing } from '../ui/standing.tsx';
import { EmptyState } from '../ui/states.tsx';
import { attempt, toast } from '../ui/toasts.tsx';
import { AddStatement } from './add-statement.tsx';
import { ImportStatements } from './import-statements.tsx';
import {
  DOCUMENT,
  FORMATS,
  JUSTIFICATIONS,
  prefillOf,
  STATEMENTS,
  STATUSES,
  scopeText,
} from './statement-rules.ts';

const NO_FILTERS: readonly never[] = [];

/** What operators have stated about vulnerabilities (VEX), in force and ended. */
export function StatementsPage() {
  const list = useListSearch(NO_FILTERS);
  const { may } = useSession();
  const isAdmin = may('admin');
  const search: Readonly<Record<string, unknown>> = useSearch({ strict: false });
  const prefill = prefillOf(search);
  const [open, setOpen] = useState<'add' | 'import' | null>(prefill === null ? null : 'add');
  const [revoking, setRevoking] = useState<VexStatement | null>(null);
  const columns = useMemo(() => columnsOf(isAdmin ? setRevoking : null), [isAdmin]);
  const query = useQuery(listQuery<VexStatement>('updates', STATEMENTS, list.query));
  const close = () => setOpen(null);
  return (
    <Page
      title="Vulnerability statements"
      lead={
        <>
          What operators have <Term of="statement">stated about vulnerabilities</Term> (VEX). What the
          distribution says is shown with each finding.
        </>
      }
      actions={
        <>
          <ExportMenu />
          {isAdmin && (
            <>
              <Button
                onClick={() => setOpen('import')}
                icon={<Upload aria-hidden="true" className="size-4" />}
              >
                Import
              </Button>
              <Button
                tone="primary"
                onClick={() => setOpen('add')}
                icon={<Plus aria-hidden="true" className="size-4" />}
              >
                Add a statement
              </Button>
            </>
          )}
        </>
      }
    >
      {prefill !== null && !isAdmin && (
        <p role="status" className="mb-3 rounded-lg border border-line bg-surface px-4 py-2">
          Only an admin can state what <span className="mono">{prefill.vulnerability}</span> means for{' '}
          <span className="mono">{prefill.name}</span>.
        </p>
      )}
      <ListTable
        list={list}
        query={query}
        noun="statements"
        empty={
          <EmptyState title="No statements" action={<Link to="/updates">See the updates</Link>}>
            If a vulnerability does not affect you, or you accept its risk for a time, state it once with a
            reason, instead of overriding each update. The findings of an update link here.
          </EmptyState>
        }
        label="Vulnerability statements"
        columns={columns}
        rowId={idOf}
      />
      {open === 'add' && isAdmin && <AddStatement prefill={prefill} onClose={close} />}
      {open === 'import' && isAdmin && <ImportStatements onClose={close} />}
      {revoking && <RevokeStatement statement={revoking} onClose={() => setRevoking(null)} />}
    </Page>
  );
}

const idOf = ({ id }: VexStatement) => id;

function ExportMenu() {
  const save = async (format: VexFormat) => {
    const document = await attempt(() => get<unknown>(DOCUMENT, { query: { format } }));
    if (document !== undefined) await saveJson(`statements.${format}.json`, document);
  };
  const formats: readonly VexFormat[] = ['openvex', 'cyclonedx'];
  const actions = formats.map((format) => ({
    ...{ id: format, group: 'Export', label: `As ${FORMATS[format]}`, isAllowed: true },
    ...{ icon: <Download />, run: () => void save(format) },
  }));
  return (
    <Menu
      trigger={<Button icon={<Download aria-hidden="true" className="size-4" />}>Export</Button>}
      actions={actions}
    />
  );
}

function columnsOf(onRevoke: ((statement: VexStatement) => void) | null): readonly Column<VexStatement>[] {
  const columns: readonly Column<VexStatement>[] = [
    {
      id: 'vulnerability',
      header: 'Vulnerability',
      cell: ({ vulnerability }) => <span className="mono font-medium">{vulnerability}</span>,
    },
    {
      id: 'state',
      header: 'State',
      part: 'pinned',
      folds: true,
      cell: (statement) => <Standing of={statement} />,
    },
    {
      id: 'package',
      header: 'Package and hosts',
      folds: true,
      cell: ({ package: name, versions, distribution, ecosystem, scope }) => (
        <span title={versions.join(', ')}>
          <span className="mono">
            <bdi>{name}</bdi> {versions[0]}
          </span>
          {versions.length > 1 && (
            <span className="text-muted"> and {versions.length - 1} more versions</span>
          )}
          <p className="text-muted">
            {distribution ?? MANAGERS[ecosystem]}, <ScopeOf scope={scope} />
          </p>
        </span>
      ),
    },
    {
      id: 'status',
      header: 'Statement',
      folds: true,
      cell: ({ status, justification }) => (
        <>
          {STATUSES[status]}
          {justification !== null && <p className="text-muted">{JUSTIFICATIONS[justification]}</p>}
        </>
      ),
    },
    {
      id: 'text',
      header: 'Explanation',
      wide: true,
      wraps: true,
      cell: ({ text }) => <span title={text}>{text}</span>,
    },
    {
      id: 'created_by',
      header: 'By',
      cell: ({ created_by: by, created_at: at, imported }) => (
        <>
          <ByWhom by={by} at={at} />
          {imported !== null && (
            <p className="max-w-48 truncate text-muted">
              from <bdi>{imported.author}</bdi>
            </p>
          )}
        </>
      ),
    },
  ];
  if (onRevoke === null) return columns;
  const revoke: Column<VexStatement> = {
    id: 'revoke',
    header: 'Actions',
    cell: (statement) =>
      statement.state === 'in_force' && (
        <IconButton
          word="Revoke"
          label={`Revoke the statement about ${statement.vulnerability} in ${isolated(statement.package)}`}
          onClick={() => onRevoke(statement)}
        >
          <Ban aria-hidden="true" className="size-4" />
        </IconButton>
      ),
  };
  return [...columns, revoke];
}

function ScopeOf({ scope }: { scope: VexScope }) {
  if (scope.kind !== 'host') return scopeText(scope);
  return (
    <Link to="/hosts/$id" params={{ id: scope.agent_id }}>
      {scopeText(scope)}
    </Link>
  );
}

function RevokeStatement({ statement, onClose }: { statement: VexStatement; onClose: () => void }) {
  const { id, vulnerability, package: name } = statement;
  const revoke = async () => {
    await withStepUp(() => remove(`${STATEMENTS}/${id}`));
    toast(`The statement about ${vulnerability} in ${isolated(name)} is revoked.`);
    await queryClient.invalidateQueries({ queryKey: ['updates'] });
  };
  return (
    <ConfirmDialog
      title={`Revoke the statement about ${vulnerability} in ${isolated(name)}`}
      confirm="Revoke the statement"
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>
        The vulnerability counts again for updates that are not approved yet. Existing approvals stay valid.
      </p>
    </ConfirmDialog>
  );
}
