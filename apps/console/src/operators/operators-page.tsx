import { Page } from '../ui/page.tsx';

/** Operators. */
export function OperatorsPage() {
  return <Page title="Operators">{null}</Page>;
}
