import { Link } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';
import { Page } from '../ui/page.tsx';
import { AdvisoriesPanel } from './advisories-panel.tsx';
import { AppearancePanel } from './appearance-panel.tsx';
import { RestorePanel } from './restore-panel.tsx';
import { ServerPanel } from './server-panel.tsx';

/** What the server runs with, which is set where it is started, and how the console looks, which is set here. */
export function SettingsPage() {
  const { may } = useSession();
  return (
    <Page
      title="Settings"
      lead="The server is set by its environment, and cannot be from here. What can be changed while it runs has a page of its own."
    >
      <div className="grid items-start grid-cols-1 gap-4 lg:grid-cols-2">
        <ServerPanel />
        <AppearancePanel />
        <AdvisoriesPanel />
        <RestorePanel />
      </div>
      <ul className="mt-5 flex flex-wrap gap-x-6 gap-y-2">
        <li>
          <a href="/api/docs">Every call of the API</a>
        </li>
        <li>
          <Link to="/signing-keys">Signing keys</Link>
        </li>
        {may('admin') && (
          <li>
            <Link to="/rate-limits">Rate limits</Link>
          </li>
        )}
      </ul>
    </Page>
  );
}
