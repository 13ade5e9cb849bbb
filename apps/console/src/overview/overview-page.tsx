import { Page } from '../ui/page.tsx';

/** Overview. */
export function OverviewPage() {
  return <Page title="Overview">{null}</Page>;
}
