import { Menu as MenuIcon, Search } from 'lucide-react';
import { useState } from 'react';
import { useSession } from '../api/session.ts';
import { ActionLine } from '../ui/action-line.tsx';
import { IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { PageLinks } from './page-links.tsx';
import { ConnectionLine, VersionLine } from './server-line.tsx';
import type { FrameProps } from './sidebar.tsx';

/** The frame of a narrow window: the same above the page, with the pages behind a button. */
export function TopBar({ destinations, account, onSearch }: FrameProps) {
  const { session, groups } = useSession();
  const [isOpen, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <>
      <header className="sticky top-0 z-30 flex min-h-12 items-center gap-1 border-b border-line bg-surface px-2">
        <IconButton label="Menu" aria-expanded={isOpen} className="size-10" onClick={() => setOpen(true)}>
          <MenuIcon aria-hidden="true" className="size-5" />
        </IconButton>
        <img src="/icon.svg" alt="" className="size-6" />
        <span className="font-semibold">Tidegate</span>
        <span className="ml-auto min-w-0 text-right">
          <ConnectionLine />
        </span>
        <IconButton label="Search or act" className="size-10" onClick={onSearch}>
          <Search aria-hidden="true" className="size-5" />
        </IconButton>
      </header>
      {isOpen && (
        <Dialog title="Menu" at="left" onClose={close}>
          <PageLinks destinations={destinations} onGo={close} />
          <section aria-label="Account" className="mt-2 border-t border-line px-2 pt-2">
            <p className="flex items-center justify-between gap-2 px-2 py-1 text-muted">
              <span className="min-w-0 truncate">{session?.operator.username}</span>
              {session?.operator.role}
            </p>
            {groups && (
              <p className="px-2 pb-1 break-words text-muted">
                Can see: <bdi>{groups.join(', ')}</bdi>
              </p>
            )}
            {account.map((action) => (
              <button
                key={action.id}
                type="button"
                className="flex min-h-10 w-full items-center gap-2 rounded-md px-2 text-left hover:bg-sunken"
                onClick={() => {
                  if (action.id === 'account') close();
                  action.run();
                }}
              >
                <ActionLine action={action} />
              </button>
            ))}
            <p className="px-2 py-1">
              <VersionLine />
            </p>
          </section>
        </Dialog>
      )}
    </>
  );
}
