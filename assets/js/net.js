// What a page cannot do without: asked for again, ever more rarely, as long as the network fails.
export async function get(url) {
  for (let wait = 1000; ; wait = Math.min(2 * wait, 20000)) {
    const reply = await fetch(url).catch(() => null);
    if (reply) return reply.json();
    await new Promise((done) => setTimeout(done, wait));
  }
}
