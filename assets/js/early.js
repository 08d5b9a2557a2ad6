// Runs before Gradio starts: marks the page for the style sheet, and lets ?lang= choose the language of Gradio's labels.
(() => {
  document.documentElement.classList.add("gradio-page");
  const lang = new URLSearchParams(location.search).get("lang");
  if (!lang || !/^[A-Za-z]{2}(-[A-Za-z]{2,4})?$/.test(lang)) return;
  Object.defineProperty(navigator, "language", { get: () => lang, configurable: true });
  Object.defineProperty(navigator, "languages", { get: () => [lang], configurable: true });
})();
