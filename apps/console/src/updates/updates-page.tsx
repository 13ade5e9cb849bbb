import { Page } from '../ui/page.tsx';

/** Updates. */
export function UpdatesPage() {
  return <Page title="Updates">{null}</Page>;
}
