// The time and the moves of a game. The time runs from its first move to its end, while its page is visible.
import { at, onShow, table } from "./table.js";

/** Seconds as minutes and seconds, after an hour with hours. */
export function timeText(seconds) {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (number) => String(number).padStart(2, "0");
  return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)}`;
}

function draw() {
  const { moves_played: moves } = table.game;
  at("clock").textContent = `${timeText(table.session.seconds)}, ${moves} move${moves === 1 ? "" : "s"}. `;
}
onShow(draw);

setInterval(() => {
  if (document.hidden || table.game?.state !== "playing" || !table.game.moves_known) return;
  table.session.seconds += 1;
  draw();
}, 1000);
