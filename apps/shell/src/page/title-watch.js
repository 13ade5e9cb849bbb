// For Chromium, where the title of a window is that of its document and nothing tells of a change.
(via) => {
  if (window.top !== window) return;
  const tell = window[via];
  let last = null;
  const look = () => {
    if (document.title === last) return;
    last = document.title;
    tell(last);
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
