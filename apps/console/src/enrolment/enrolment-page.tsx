import { Page } from '../ui/page.tsx';

/** Add hosts. */
export function EnrolmentPage() {
  return <Page title="Add hosts">{null}</Page>;
}
