import { CircleUser, Search } from 'lucide-react';
import type { Action } from '../actions/actions.ts';
import { useSession } from '../api/session.ts';
import { Kbd } from '../ui/button.tsx';
import { Menu } from '../ui/menu.tsx';
import type { Destination } from './navigation.tsx';
import { PageLinks } from './page-links.tsx';
import { ConnectionLine, VersionLine } from './server-line.tsx';

export interface FrameProps {
  readonly destinations: readonly Destination[];
  readonly account: readonly Action[];
  readonly onSearch: () => void;
}

/** The frame of a wide window: pages, search and account in a bar beside the page. */
export function Sidebar({ destinations, account, onSearch }: FrameProps) {
  const { session, groups } = useSession();
  return (
    <aside className="sticky top-0 flex h-screen flex-col border-r border-line bg-surface">
      <div className="flex items-center gap-2 px-4 pt-4 pb-3 text-base font-semibold">
        <img src="/icon.svg" alt="" className="size-6" />
        Tidegate
      </div>
      <div className="px-3 pb-2">
        <button
          type="button"
          onClick={onSearch}
          className="flex min-h-8 w-full items-center gap-2 rounded-md border border-line-strong/60 px-2 text-muted hover:bg-sunken"
        >
          <Search aria-hidden="true" className="size-4" />
          <span className="flex-1 text-left">
            Search<span className="sr-only"> or act</span>
          </span>
          <Kbd text="Ctrl K" />
        </button>
      </div>
      <PageLinks destinations={destinations} />
      <div className="border-t border-line p-2">
        <Menu
          actions={account}
          trigger={
            <button
              type="button"
              className="flex min-h-9 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-sunken"
            >
              <CircleUser aria-hidden="true" className="size-4.5 shrink-0" />
              <span className="min-w-0 flex-1 truncate">{session?.operator.username}</span>
              <span className="text-[0.85rem] text-muted">{session?.operator.role}</span>
            </button>
          }
        />
        {groups && (
          <p className="truncate px-2 text-[0.85rem] text-muted" title={groups.join(', ')}>
            Can see: <bdi>{groups.join(', ')}</bdi>
          </p>
        )}
        <p className="flex flex-wrap items-center gap-x-2 px-2 pt-1">
          <ConnectionLine />
          <VersionLine />
        </p>
      </div>
    </aside>
  );
}
