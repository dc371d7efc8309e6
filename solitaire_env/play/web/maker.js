// What answers the requests of the page: here the server; in a site without one, the engine in the page.
export { ask, file } from "./server.js";
