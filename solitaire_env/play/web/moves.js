// A list of moves to step through, with a current one.
import { make } from "./board.js";

/** Set up a list; a click calls go with a number of moves, a key calls step with 1 or -1. */
export function moveList(list, go, step) {
  let shown = [];
  let now = 0;
  const button = (k) => list.children[k]?.firstChild;

  const item = (words, k) => {
    const count = make("span", { class: "count" }, `${k + 1}`);
    const own = make("button", { type: "button", tabindex: k ? -1 : 0 }, count, words);
    own.onclick = () => go(k + 1);
    return make("li", {}, own);
  };

  // Tab reaches the list as a whole; the up and down keys move within it.
  list.addEventListener("keydown", async (event) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    await step(by);
    button(Math.max(0, now - 1))?.focus();
  });

  return {
    /** Show these moves, in words. */
    fill(words) {
      let same = 0;
      while (same < shown.length && shown[same] === words[same]) same += 1;
      while (list.children.length > same) list.lastChild.remove();
      list.append(...words.slice(same).map((own, k) => item(own, same + k)));
      shown = [...words];
    },
    /** Mark the last played move, given the number of played moves. */
    mark(played) {
      now = played;
      list.querySelector("[aria-current]")?.removeAttribute("aria-current");
      list.querySelector("[tabindex='0']")?.setAttribute("tabindex", -1);
      const current = button(Math.max(0, now - 1));
      current?.setAttribute("tabindex", 0);
      if (now === 0) list.scrollTop = 0;
      else if (current) {
        current.setAttribute("aria-current", "step");
        list.scrollTop = current.parentElement.offsetTop - list.offsetTop - list.clientHeight / 2;
      }
    },
  };
}
