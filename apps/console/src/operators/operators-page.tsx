import { Link } from '@tanstack/react-router';
import { Page } from '../ui/page.tsx';
import { ApiTokens } from './api-tokens.tsx';
import { IdentityProviders } from './identity-providers.tsx';
import { Operators } from './operators.tsx';
import { WhoIsIn } from './who-is-in.tsx';

/** The people and programs that may use the console and the API. */
export function OperatorsPage() {
  return (
    <Page
      title="Operators"
      lead="People log in; programs use API tokens. Everything they do is recorded in the events."
      actions={
        <Link to="/events" search={{ about: 'administration' }}>
          What was changed
        </Link>
      }
    >
      <div className="space-y-5">
        <Operators />
        <WhoIsIn />
        <ApiTokens />
        <IdentityProviders />
      </div>
    </Page>
  );
}
