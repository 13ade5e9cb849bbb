import { Outlet, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useMemo, useState } from 'react';
import type { Action } from '../actions/actions.ts';
import { useActions } from '../actions/registry.ts';
import { useShortcuts } from '../actions/use-shortcuts.ts';
import { followChanges } from '../api/live.ts';
import { queryClient } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { FactorDemand } from '../login/factor-demand.tsx';
import { SessionEnd } from '../login/session-end.tsx';
import { StepUpPrompt } from '../login/step-up.tsx';
import { Toasts, toast } from '../ui/toasts.tsx';
import { useNarrow } from '../ui/use-narrow.ts';
import { useAccountActions } from './account-actions.ts';
import { DESTINATIONS } from './navigation.tsx';
import { loadPreferences, usePreferences } from './preferences.ts';
import { Sidebar } from './sidebar.tsx';
import { TopBar } from './top-bar.tsx';

/** Long after a page has come, so that it takes nothing from the first load. */
const PALETTE_AFTER_MS = 2_000;

const ShortcutHelp = lazy(() =>
  import('./shortcut-help.tsx').then(({ ShortcutHelp }) => ({ default: ShortcutHelp })),
);

/** The frame around every page after the login: navigation, palette, shortcuts and connection state. */
export function AppShell() {
  const { session, may, groups } = useSession();
  const navigate = useNavigate();
  const { shortcuts } = usePreferences();
  const isNarrow = useNarrow();
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  const username = session?.operator.username ?? '';

  useEffect(() => loadPreferences(username), [username]);
  useEffect(() => followChanges(queryClient), []);
  const Palette = usePalette(open === 'palette');
  useShortcuts(shortcuts);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setOpen((now) => (now === 'palette' ? null : 'palette'));
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);

  const isBound = groups !== null;
  const destinations = useMemo(
    () => DESTINATIONS.filter(({ role, isOfFleet }) => may(role) && !(isBound && isOfFleet)),
    [may, isBound],
  );
  const account = useAccountActions();
  const actions = useMemo(
    (): readonly Action[] => [
      ...destinations.map(
        ({ to, label, icon, shortcut }): Action => ({
          id: `go ${to}`,
          group: 'Go to',
          label,
          icon,
          ...(shortcut ? { shortcut } : {}),
          isAllowed: true,
          run: () => void navigate({ to }),
        }),
      ),
      {
        id: 'help',
        group: 'Help',
        label: 'Keyboard shortcuts',
        shortcut: '?',
        isAllowed: true,
        run: () => setOpen('help'),
      },
      ...account,
    ],
    [destinations, account, navigate],
  );
  useActions(actions);
  const frame = { destinations, account, onSearch: () => setOpen('palette') };

  return (
    <div className="grid min-h-screen grid-cols-[13.5rem_1fr] max-md:grid-cols-1 max-md:grid-rows-[auto_1fr]">
      <a
        href="#main"
        className="sr-only z-50 rounded bg-raised px-3 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      {isNarrow ? <TopBar {...frame} /> : <Sidebar {...frame} />}
      <main id="main" tabIndex={-1} className="min-w-0 outline-none">
        <FactorDemand />
        <Outlet />
      </main>
      {open === 'palette' && Palette && <Palette onClose={() => setOpen(null)} />}
      <Suspense>{open === 'help' && <ShortcutHelp onClose={() => setOpen(null)} />}</Suspense>
      <StepUpPrompt />
      <SessionEnd />
      <Toasts />
    </div>
  );
}

type PaletteView = (props: { onClose: () => void }) => ReactNode;

/** The palette once its script is there. Not by `lazy`: React shows what it waited for 300 ms later than it could. */
function usePalette(isWanted: boolean): PaletteView | null {
  const [view, setView] = useState<PaletteView | null>(null);
  useEffect(() => {
    if (view) return;
    const load = () =>
      void import('./palette.tsx').then(
        ({ Palette }) => setView(() => Palette),
        // It is asked for again when it is wanted.
        () => isWanted && toast('The search could not be loaded. Try again.', { tone: 'bad' }),
      );
    const timer = setTimeout(load, isWanted ? 0 : PALETTE_AFTER_MS);
    return () => clearTimeout(timer);
  }, [view, isWanted]);
  return view;
}
