import { Page } from '../ui/page.tsx';
import { ApiTokens } from './api-tokens.tsx';
import { IdentityProviders } from './identity-providers.tsx';
import { Operators } from './operators.tsx';

/** The people and programs that may use the console and the API. */
export function OperatorsPage() {
  return (
    <Page
      title="Operators"
      lead="People log in; programs use API tokens. Everything they do is recorded in the events."
    >
      <div className="space-y-5">
        <Operators />
        <ApiTokens />
        <IdentityProviders />
      </div>
    </Page>
  );
}
