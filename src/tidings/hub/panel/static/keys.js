/* Shortcuts: which keys there are, and what each does. Keys of one letter can be switched off; that is
 * remembered.
 */

const KEY = "tidings.letters";
const TYPING = "input, textarea, select, [contenteditable]";

export const KEYS = [
  [["?"], "this help"],
  [["n"], "send a reminder"],
  [["c"], "take back what is on its way"],
  [["r"], "revoke or clear the open reminder"],
  [["/"], "search"],
  [["s"], "go to the list of sessions"],
  [["m"], "go to the transcript or list"],
  [["1", "2", "3", "4"], "transcript, reminders, timeline, records"],
  [["↑", "↓", "j", "k"], "move in a list or from turn to turn"],
  [["Enter"], "open what is marked"],
  [["Esc"], "close what is open"],
  [["t"], "dark, light, or as the system"],
];

/** Whether keys of one letter work. */
export function letters() {
  return localStorage.getItem(KEY) !== "off";
}

/** Switch them on or off. */
export function setLetters(on) {
  localStorage.setItem(KEY, on ? "on" : "off");
}

/**
 * Listen; `does` maps keys to functions. Escape works everywhere outside a dialog, the others not while
 * typing.
 */
export function listen(does) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const typing = event.target.matches?.(TYPING) ?? false;
    if (event.key !== "Escape" && (typing || !letters())) return;
    const found = does[event.key];
    if (found !== undefined && found(typing, event.target) !== false) event.preventDefault();
  });
}
