import type { Page } from 'playwright-core';
import type { State } from './states.ts';

/** Nothing is loaded, and nothing more has come, for so long. */
const QUIET_MS = 200;
const LOOK_MS = 40;
const SHOWN_MAX_MS = 60_000;

/** Runs in the page: waits until nothing is lacking and nothing has changed for a while; returns what is lacking in the end. */
const WAIT = `(state) => {
  const seen = (selector) => {
    // What is behind a dialog may wait for it.
    const shown = document.querySelector('dialog[open]') ?? document;
    return [...shown.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  };
  const lacking = () => {
    if (!document.body || document.body.innerText.trim() === '') return 'it is blank';
    const loading = seen('[role=status]').filter((one) => one.firstElementChild?.textContent === 'Loading');
    if (state === 'loading') {
      const isTold = loading.some((one) => one.childElementCount > 1) || seen('[aria-busy=true]').length > 0;
      return isTold ? null : 'nothing says that it loads';
    }
    if (document.querySelector('h1')?.textContent === 'This page failed') return 'the page failed';
    if (seen('h1, h2').length === 0 && seen('[role=alert]').length === 0) return 'it has no title';
    if (loading.length > 0 || seen('[aria-busy=true]').length > 0) return 'it still loads';
    if ([...document.images].some((one) => one.loading !== 'lazy' && !one.complete)) return 'a picture is not there';
    return state === 'error' && seen('[role=alert]').length === 0 ? 'nothing says that it failed' : null;
  };
  const began = performance.now();
  let last = '';
  let since = began;
  return new Promise((end) => {
    const look = () => {
      const now = performance.now();
      const lacks = lacking();
      const is = lacks ?? document.body.innerText.length + ' ' + document.documentElement.scrollHeight;
      if (is !== last) [last, since] = [is, now];
      const isOver = now - began > ${SHOWN_MAX_MS};
      if (isOver || (lacks === null && now - since >= ${QUIET_MS})) end(lacks);
      else setTimeout(look, ${LOOK_MS});
    };
    look();
  });
}`;

/** Waits until the page is what its picture shall show; throws with what it lacks. */
export async function waitUntilShown(page: Page, state: State): Promise<void> {
  const lacks: unknown = await page.evaluate(`(${WAIT})(${JSON.stringify(state)})`);
  if (lacks !== null) throw new Error(String(lacks));
}
