// Makes pages better where scripts run: nothing is missing without it.
(() => {
  "use strict";
  // A live page changes as the events come, instead of being loaded again.
  const live = document.getElementById("live");
  if (live && live.dataset.going) {
    const events = new EventSource("/live/events");
    events.addEventListener("state", (event) => { live.innerHTML = event.data; });
    events.addEventListener("end", (event) => {
      events.close();
      live.innerHTML = event.data;
      document.getElementById("stop")?.remove();
    });
  }
  // How many runs are ticked, and whether that makes a comparison.
  const form = document.getElementById("compare");
  if (form) {
    const said = document.getElementById("ticked");
    const words = said.textContent;
    const count = () => {
      const n = form.querySelectorAll("input[name=run]:checked").length;
      said.textContent = n === 0 ? words : n === 1 ? "1 run ticked; tick another to compare" : `${n} runs ticked`;
    };
    form.addEventListener("change", count);
    count();
  }
})();
