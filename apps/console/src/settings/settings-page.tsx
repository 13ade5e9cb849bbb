import { Link } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';
import { PolicyChoice } from '../gate-policy/policy-choice.tsx';
import { Page, Panel } from '../ui/page.tsx';
import { AdvisoriesPanel } from './advisories-panel.tsx';
import { AppearancePanel } from './appearance-panel.tsx';
import { RestorePanel } from './restore-panel.tsx';
import { ServerPanel } from './server-panel.tsx';

/** The server's settings, most of which its environment determines, and the console's own. */
export function SettingsPage() {
  const { may, groups } = useSession();
  return (
    <Page
      title="Settings"
      lead="Most settings of the server are in its environment. What can change while it runs is here and on pages of its own."
    >
      <div className="grid items-start grid-cols-1 gap-4 lg:grid-cols-2">
        <div className="space-y-4">
          <ServerPanel />
          <AdvisoriesPanel />
          <RestorePanel />
        </div>
        <div className="space-y-4">
          <AppearancePanel />
          {groups === null && (
            <Panel title="What stops an update">
              <PolicyChoice />
            </Panel>
          )}
        </div>
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
