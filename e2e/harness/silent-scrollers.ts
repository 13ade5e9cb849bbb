/** An expression of the page: what scrolls sideways and does not say so, as selectors. */
export const SILENT_SCROLLERS = `[...document.querySelectorAll('body *')].filter((one) => {
  if (one.clientWidth === 0 || one.scrollWidth <= one.clientWidth + 1) return false;
  if (!['auto', 'scroll'].includes(getComputedStyle(one).overflowX) || one.matches('input, select, textarea')) return false;
  return !(one.previousElementSibling?.textContent ?? '').startsWith('Scroll sideways');
}).map((one) => one.tagName.toLowerCase() + '.' + one.className + ' ' + one.textContent.slice(0, 40))`;
