/**
 * An expression of the page: texts that a name before them writes from right to left, with some of what is before. The
 * name has a mark that turns what follows, up to the end of the element that isolates it or of its block.
 */
export const TURNED_TEXT = `(() => {
  const MARK = '\\u202e';
  const isEnd = (one) => {
    const { display, unicodeBidi } = getComputedStyle(one);
    return unicodeBidi !== 'normal' && unicodeBidi !== 'embed' || !/^(inline|contents)$/.test(display);
  };
  const found = [];
  const texts = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.data.includes(MARK) || !text.parentElement.checkVisibility()) continue;
    let place = text.parentElement;
    while (!isEnd(place)) place = place.parentElement;
    const after = new Range();
    after.setStartAfter(text);
    after.setEndAfter(place.lastChild);
    const turned = (text.data.slice(text.data.lastIndexOf('gpj') + 3) + after.toString()).trim();
    if (turned !== '') found.push(place.textContent.slice(0, 20) + ' ... ' + turned.slice(0, 40));
  }
  return found;
})()`;
