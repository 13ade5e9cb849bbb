import { Page } from '../ui/page.tsx';
import { ApiTokens } from './api-tokens.tsx';
import { Operators } from './operators.tsx';

/** Who may use the console and the API, people and programs. */
export function OperatorsPage() {
  return (
    <Page
      title="Operators"
      lead="People log in; programs bear API tokens. Every act of either is in the events."
    >
      <div className="space-y-5">
        <Operators />
        <ApiTokens />
      </div>
    </Page>
  );
}
