// Signing in from a frame, as on huggingface.co: whether the cookie would be kept is asked before anyone is sent away.
// Where it is not, only the way into a tab of its own is offered. A sign-in there never reaches the frame.
const LOGIN = "a[href*='/login/huggingface']", TAB = "a.own-tab", CONNECT = "a[href^='/keys/openrouter/connect']";
const root = document.documentElement, framed = self !== top;
if (framed) root.dataset.framed = "";

const ask = (path) => fetch(path, { credentials: "same-origin", cache: "no-store" }).then((reply) => reply.json());

// One fetch pair: a cookie set as the sign-in's is, and whether it came back. A network that fails is not the cookie's fault.
async function kept() {
  try {
    const { value } = await ask("/login/cookie");
    return (await ask(`/login/cookie/back?value=${encodeURIComponent(value)}`)).back;
  } catch { return true; }
}

async function signIn(link) {
  if (await kept()) location.assign(link.href);
  else root.dataset.cookies = "blocked";
}

addEventListener("click", (event) => {
  const at = (wanted) => event.target.closest?.(wanted), plain = !(event.button || event.ctrlKey || event.metaKey || event.shiftKey);
  const tab = at(TAB), connect = framed && at(CONNECT), login = plain && at(LOGIN);
  if (tab) {
    const here = new URL(location.href);
    here.searchParams.delete("signin");
    tab.href = here;
  }
  if (connect) Object.assign(connect, { target: "_blank", rel: "noopener" }); // no other site's page opens in a frame
  if (!login) return;
  event.preventDefault();
  signIn(login);
});
