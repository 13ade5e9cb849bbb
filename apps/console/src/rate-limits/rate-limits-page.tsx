import { Page } from '../ui/page.tsx';

/** Rate limits. */
export function RateLimitsPage() {
  return <Page title="Rate limits">{null}</Page>;
}
