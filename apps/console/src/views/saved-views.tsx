import { useQuery, useQueryClient } from '@tanstack/react-query';
import { isolated } from '@tidegate/protocol/isolated';
import type { NewView, SavedView, ViewPage } from '@tidegate/protocol/views-api';
import { Bookmark, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { ApiError, post, remove } from '../api/client.ts';
import { changesTo } from '../api/filter-changes.ts';
import type { ListSearch } from '../api/list-search.ts';
import { listQuery } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Field } from '../ui/field.tsx';
import { Popover } from '../ui/popover.tsx';
import { attempt, toast } from '../ui/toasts.tsx';

const VIEWS = '/api/v1/views';
/** The most views, own and shared, that are read at once. */
const SHOWN_MAX = 200;

/** Named filters on the server: opens one, saves the current one, deletes the operator's own. */
export function SavedViews<F extends string>({
  list,
  page,
  filters,
}: {
  list: ListSearch<F>;
  page: ViewPage;
  /** The parts of the page's filter. */
  filters: readonly F[];
}) {
  const client = useQueryClient();
  const { data, error } = useQuery(listQuery<SavedView>('operators', VIEWS, { limit: SHOWN_MAX }));
  const again = () => client.invalidateQueries({ queryKey: ['operators', VIEWS] });
  const views = data?.items.filter((view) => view.page === page) ?? [];
  return (
    <Popover
      label="Saved views"
      trigger={
        <Button className="min-h-9" icon={<Bookmark aria-hidden="true" className="size-4" />}>
          Views
        </Button>
      }
    >
      <div className="w-72 space-y-3">
        {error && <p className="text-bad">{error.message}</p>}
        {data && views.length === 0 && <p className="text-muted">No view is saved yet.</p>}
        <ul className="max-h-72 space-y-0.5 overflow-y-auto">
          {views.map((view) => (
            <li key={view.id} className="flex items-center gap-1">
              <button
                type="button"
                onClick={() => list.replace(changesTo(filters, view.query), textOf(view.query.sort))}
                className="min-h-8 min-w-0 flex-1 truncate rounded-md px-2 text-left hover:bg-sunken"
              >
                <bdi>{view.name}</bdi>
                {view.shared && (
                  <span className="text-muted">
                    {' '}
                    · shared by <bdi>{view.created_by}</bdi>
                  </span>
                )}
              </button>
              {view.own && (
                <IconButton
                  label={`Delete the view ${isolated(view.name)}`}
                  onClick={() => void deleteView(view, again)}
                >
                  <Trash2 aria-hidden="true" className="size-4" />
                </IconButton>
              )}
            </li>
          ))}
        </ul>
        <SaveView list={list} page={page} onSaved={again} />
      </div>
    </Popover>
  );
}

/** Deletes at once; the toast can undo it. */
async function deleteView(view: SavedView, again: () => Promise<void>): Promise<void> {
  const isDone = await attempt(async () => {
    await remove(`${VIEWS}/${view.id}`);
    await again();
    return true;
  });
  if (!isDone) return;
  const { name, page, query, shared } = view;
  const run = () =>
    void attempt(async () => {
      await post<SavedView>(VIEWS, { name, page, query, ...(shared ? { shared } : {}) } satisfies NewView);
      await again();
    });
  toast(`The view ${isolated(name)} is deleted.`, { action: { label: 'Undo', run } });
}

function SaveView({
  list,
  page,
  onSaved,
}: {
  list: Pick<ListSearch<string>, 'filter' | 'sort'>;
  page: ViewPage;
  onSaved: () => Promise<void>;
}) {
  const { may } = useSession();
  const [failure, setFailure] = useState<string>();
  const [busy, setBusy] = useState(false);
  const save = async (form: HTMLFormElement) => {
    const data = new FormData(form);
    setBusy(true);
    setFailure(undefined);
    try {
      const query = { ...list.filter, ...(list.sort ? { sort: list.sort } : {}) };
      const shared = data.get('shared') === 'on' ? { shared: true } : {};
      await post<SavedView>(VIEWS, {
        name: String(data.get('name')),
        page,
        query,
        ...shared,
      } satisfies NewView);
      form.reset();
      await onSaved();
    } catch (error) {
      setFailure(error instanceof ApiError ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="space-y-2 border-t border-line pt-2"
      onSubmit={(event) => {
        event.preventDefault();
        void save(event.currentTarget);
      }}
    >
      <Field
        label="Save this filter as"
        name="name"
        required
        maxLength={64}
        autoComplete="off"
        error={failure}
      />
      {may('admin') && (
        <label className="flex min-h-7 items-center gap-2">
          <input type="checkbox" name="shared" className="size-4" /> share with everybody
        </label>
      )}
      <Button type="submit" busy={busy}>
        Save the view
      </Button>
    </form>
  );
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);
