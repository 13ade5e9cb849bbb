import { Page } from '../ui/page.tsx';
import { Notices } from './notices.tsx';
import { OwnIdentities } from './own-identities.tsx';
import { OwnPassword } from './own-password.tsx';
import { OwnSessions } from './own-sessions.tsx';
import { SecondFactors } from './second-factors.tsx';

/** The operator's own second factors, password, notices and sessions. */
export function AccountPage() {
  return (
    <Page title="Your account">
      <div className="grid items-start grid-cols-1 gap-4 lg:grid-cols-2">
        <SecondFactors />
        <OwnPassword />
        <OwnIdentities />
        <div className="lg:col-span-2">
          <Notices />
        </div>
        <div className="lg:col-span-2">
          <OwnSessions />
        </div>
      </div>
    </Page>
  );
}
