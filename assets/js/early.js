// Runs before Gradio starts: marks the page for the style sheet, keeps its requests here, and lets ?lang= choose the language of Gradio's labels.
(() => {
  document.documentElement.classList.add("gradio-page");
  // On a name of hf.space Gradio asks huggingface.co how this Space is before it starts. It runs, and nobody else is asked.
  const fetched = window.fetch;
  window.fetch = (what, ...more) => String(what?.url ?? what).startsWith("https://huggingface.co/")
    ? Promise.resolve(new Response(JSON.stringify({ id: "", runtime: { stage: "RUNNING" } }), { status: 200 })) : fetched(what, ...more);
  const lang = new URLSearchParams(location.search).get("lang");
  if (!lang || !/^[A-Za-z]{2}(-[A-Za-z]{2,4})?$/.test(lang)) return;
  Object.defineProperty(navigator, "language", { get: () => lang, configurable: true });
  Object.defineProperty(navigator, "languages", { get: () => [lang], configurable: true });
})();
