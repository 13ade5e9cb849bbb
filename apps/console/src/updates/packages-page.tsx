import { Page } from '../ui/page.tsx';

/** Packages. */
export function PackagesPage() {
  return <Page title="Packages">{null}</Page>;
}
