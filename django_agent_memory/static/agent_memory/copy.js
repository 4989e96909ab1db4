"use strict";

// Only where the browser lets a page write to the clipboard: there the button is shown.
for (const button of document.querySelectorAll("button[data-copies]")) {
  button.hidden = !navigator.clipboard;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copies).textContent;
    await navigator.clipboard.writeText(text);
    button.textContent = button.dataset.done;
  });
}
