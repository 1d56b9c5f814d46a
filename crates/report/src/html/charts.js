// Zoom and reading of drawings. The page is complete without it: every drawing, its words and its numbers stand in the page.
(() => {
  "use strict";
  const nice = (span) => {
    const decade = 10 ** Math.floor(Math.log10(span / 4));
    return decade * ([1, 2, 2.5, 5, 10].find((step) => decade * step >= span / 4) || 10);
  };
  const name = (value) => Number(value.toPrecision(6)).toLocaleString("en-US", { maximumFractionDigits: 6 });

  for (const svg of document.querySelectorAll("svg.chart[data-x]")) {
    const plot = svg.querySelector(".plot");
    const axis = svg.querySelector(".x-axis");
    const [left, top, wide, high] = plot.getAttribute("viewBox").split(" ").map(Number);
    const [kind, low, end] = svg.dataset.x.split(" ");
    const [from, to] = [Number(low), Number(end)];
    const hints = [...plot.querySelectorAll(".hint")];
    const ticks = axis.innerHTML;
    let [x, w, at, start] = [left, wide, -1, null];

    const said = document.createElement("p");
    said.className = "readout";
    said.setAttribute("aria-live", "polite");
    const back = document.createElement("button");
    back.type = "button";
    back.textContent = "Show all";
    back.hidden = true;
    svg.after(said, back);
    svg.tabIndex = 0;
    svg.setAttribute("role", "group");

    const make = (tag, attributes, text) => {
      const one = document.createElementNS(svg.namespaceURI, tag);
      Object.entries(attributes).forEach(([key, value]) => one.setAttribute(key, value));
      one.textContent = text || "";
      return one;
    };
    const band = make("rect", { class: "band", y: top, height: high, width: 0 });
    plot.append(band);

    const show = () => {
      const whole = w >= wide;
      plot.setAttribute("viewBox", `${x} ${top} ${w} ${high}`);
      svg.classList.toggle("zoomed", !whole);
      back.hidden = whole;
      if (whole) { axis.innerHTML = ticks; return; }
      const value = (place) => from + ((place - left) / wide) * (to - from);
      const [first, last] = [value(x), value(x + w)];
      const step = nice(last - first);
      axis.textContent = "";
      for (let tick = Math.ceil(first / step) * step; tick <= last; tick += step) {
        const place = left + ((tick - first) / (last - first)) * wide;
        axis.append(
          make("line", { class: "grid", x1: place, x2: place, y1: top, y2: top + high }),
          make("text", { class: "tick", x: place, y: top + high + 15, "text-anchor": "middle" }, name(tick)),
        );
      }
    };
    const zoom = (a, b) => {
      const least = wide / 200;
      w = Math.min(wide, Math.max(least, Math.abs(b - a)));
      x = Math.min(left + wide - w, Math.max(left, Math.min(a, b)));
      show();
    };
    const read = (index) => {
      if (!hints.length) return;
      hints[at]?.classList.remove("here");
      at = Math.min(hints.length - 1, Math.max(0, index));
      hints[at].classList.add("here");
      said.textContent = hints[at].textContent;
    };
    const place = (event) => {
      const box = svg.getBoundingClientRect();
      const share = (((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width - left) / wide;
      return x + Math.min(1, Math.max(0, share)) * w;
    };
    const nearest = (where) => {
      const away = (one) => Math.abs(+one.getAttribute("x") + one.getAttribute("width") / 2 - where);
      return hints.reduce((best, one, index) => (away(one) < away(hints[best]) ? index : best), 0);
    };

    svg.addEventListener("pointerdown", (event) => { if (kind && event.button === 0) start = place(event); });
    svg.addEventListener("pointermove", (event) => {
      const now = place(event);
      read(nearest(now));
      if (start === null) return;
      band.setAttribute("x", Math.min(start, now));
      band.setAttribute("width", Math.abs(now - start));
    });
    const finish = (event) => {
      const [a, b] = [start, place(event)];
      start = null;
      band.setAttribute("width", 0);
      if (a === null || event.type !== "pointerup" || Math.abs(b - a) <= w / 50) return;
      zoom(a, b);
      read(nearest(place(event)));
    };
    svg.addEventListener("pointerup", finish);
    svg.addEventListener("pointercancel", finish);
    svg.addEventListener("pointerleave", finish);
    svg.addEventListener("dblclick", () => zoom(left, left + wide));
    back.addEventListener("click", () => { zoom(left, left + wide); svg.focus(); });
    svg.addEventListener("keydown", (event) => {
      const middle = hints[at] ? +hints[at].getAttribute("x") : x + w / 2;
      const keys = {
        ArrowLeft: () => read(at - 1),
        ArrowRight: () => read(at + 1),
        "+": () => kind && zoom(middle - w / 4, middle + w / 4),
        "-": () => kind && zoom(middle - w, middle + w),
        Escape: () => zoom(left, left + wide),
      };
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
})();
