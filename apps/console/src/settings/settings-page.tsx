import { Link } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';
import { Page } from '../ui/page.tsx';
import { AdvisoriesPanel } from './advisories-panel.tsx';
import { AppearancePanel } from './appearance-panel.tsx';
import { RestorePanel } from './restore-panel.tsx';
import { ServerPanel } from './server-panel.tsx';

/** The server's settings, which its environment determines, and the console's own, which are set here. */
export function SettingsPage() {
  const { may } = useSession();
  return (
    <Page
      title="Settings"
      lead="The server is configured by its environment, not here. Settings that can change while it runs have their own pages."
    >
      <div className="grid items-start grid-cols-1 gap-4 lg:grid-cols-2">
        <ServerPanel />
        <AppearancePanel />
        <AdvisoriesPanel />
        <RestorePanel />
      </div>
      <ul className="mt-5 flex flex-wrap gap-x-6 gap-y-2">
        <li>
          <a href="/api/docs">API reference</a>
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
