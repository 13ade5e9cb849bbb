import { Page } from '../ui/page.tsx';

/** Your account. */
export function AccountPage() {
  return <Page title="Your account">{null}</Page>;
}
