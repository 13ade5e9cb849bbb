// For Chromium, where a window has its document's title and no event reports a change.
(via) => {
  if (window.top !== window) return;
  const report = window[via];
  let last = null;
  const look = () => {
    if (document.title === last) return;
    last = document.title;
    report(last);
  };
  addEventListener('DOMContentLoaded', () => {
    look();
    new MutationObserver(look).observe(document.head, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
};
