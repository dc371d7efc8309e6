// Keeps the files of the page in the browser, so that it opens and plays without a network.
const FILES = ["{{files}}"]; // all that a game needs, written by solitaire_env.play.site
const CACHE = "solitaire";

const kept = async () => caches.open(CACHE);

self.addEventListener("install", (event) => event.waitUntil(kept().then((cache) => cache.addAll(FILES))));
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

/** The file as it is now; without a network, as it was. */
async function answer(request) {
  const cache = await kept();
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(request.url.split("?")[0], response.clone());
    return response;
  } catch {
    return (await cache.match(request, { ignoreSearch: true })) ?? Response.error();
  }
}

self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(self.registration.scope)) event.respondWith(answer(event.request));
});
