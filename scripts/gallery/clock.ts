import type { BrowserContext } from 'playwright-core';

/** The fleet's day is not today: from now on the pages of this context, and what they hear of the server's clock, go by it. */
export async function setClock(context: BrowserContext, aheadMs: number): Promise<void> {
  await context.addInitScript(shiftClock, aheadMs);
}

/** Runs in the page. */
function shiftClock(aheadMs: number): void {
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given: [] | [string | number | Date]) {
      if (given.length === 0) super(Real.now() + aheadMs);
      else super(...given);
    }
    static override now() {
      return Real.now() + aheadMs;
    }
  } as DateConstructor;
  const read = Headers.prototype.get;
  Object.defineProperty(Headers.prototype, 'get', {
    value(this: Headers, name: string) {
      const value = read.call(this, name);
      if (value === null || name !== 'date') return value;
      return new Real(Real.parse(value) + aheadMs).toUTCString();
    },
  });
}
