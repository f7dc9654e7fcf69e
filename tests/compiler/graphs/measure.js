// The test adds this script to a page. It measures every graph as the browser renders it, and reports the errors.
const wrong = [];
const say = (svg, what) => wrong.push(`${svg.querySelector("title").textContent}: ${what}`);
const short = (text) => JSON.stringify(text.textContent.slice(-40));
const box = (element) => element.getBoundingClientRect();
const overlap = (a, b, slack) =>
  a.left + slack < b.right && b.left + slack < a.right && a.top + slack < b.bottom && b.top + slack < a.bottom;
const holds = (a, b, slack) =>
  b.left >= a.left - slack && b.right <= a.right + slack && b.top >= a.top - slack && b.bottom <= a.bottom + slack;

const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const luminance = (colour) => {
  const [r, g, b] = colour.match(/[\d.]+/g).map((it) => channel(Number(it) / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [one, other] = [luminance(a), luminance(b)].sort();
  return (other + 0.05) / (one + 0.05);
};

let texts = 0;
for (const svg of document.querySelectorAll("svg")) {
  // The rectangles of the groups that contain the element.
  const above = (element) => {
    const found = [];
    for (let group = element.closest("g"); group; group = group.parentElement.closest("g")) {
      const rect = group.querySelector(":scope > rect");
      if (rect) found.push(rect);
    }
    return found;
  };
  const seen = (kind) => [...svg.querySelectorAll(kind)].map((it) => ({ it, box: box(it), above: above(it) }));
  const [rects, words] = [seen("rect"), seen("text")];
  const page = box(svg);
  for (const [index, one] of rects.entries()) {
    if (!holds(page, one.box, 0.1)) say(svg, `a box sticks out of the picture`);
    for (const other of rects.slice(index + 1)) {
      if (one.above.includes(other.it) || other.above.includes(one.it)) continue;
      if (overlap(one.box, other.box, 0.1)) say(svg, `${one.it.outerHTML} and ${other.it.outerHTML} overlap`);
    }
    const around = one.above.find((it) => it !== one.it);
    if (around && !holds(box(around), one.box, 0.6)) say(svg, `${one.it.outerHTML} leaves ${around.outerHTML}`);
  }
  for (const [index, one] of words.entries()) {
    texts += 1;
    if (!one.it.textContent) continue;
    const ground = one.above[0];
    if (!holds(box(ground), one.box, 0.6)) {
      say(svg, `${short(one.it)} is ${one.box.width} wide and ${one.box.height} high, and leaves its box`);
    }
    for (const other of words.slice(index + 1)) {
      if (overlap(one.box, other.box, 0.6)) say(svg, `${short(one.it)} lies on ${short(other.it)}`);
    }
    for (const other of rects) {
      if (!one.above.includes(other.it) && overlap(one.box, other.box, 0.6)) {
        say(svg, `${short(one.it)} lies on ${other.it.outerHTML}`);
      }
    }
    const ratio = contrast(getComputedStyle(one.it).fill, getComputedStyle(ground).fill);
    if (!(ratio >= 4.5)) say(svg, `${short(one.it)} has a contrast of ${ratio}`);
  }
}
if (document.documentElement.scrollWidth > innerWidth) wrong.push(`the page is ${document.documentElement.scrollWidth} wide`);
// The background color of a graph in an `<img>`, at its left edge.
const image = (it) => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [it.naturalWidth, it.naturalHeight];
  const context = canvas.getContext("2d");
  context.drawImage(it, 0, 0);
  const [r, g, b] = context.getImageData(10, 100, 1, 1).data;
  return { width: it.naturalWidth, ground: (r << 16) | (g << 8) | b };
};
const leave = () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const images = [...document.images].map(image);
  const answer = JSON.stringify({ texts, dark, images, wrong: wrong.slice(0, 30) });
  const out = document.createElement("pre");
  out.id = "measured";
  out.textContent = [...answer].map((it) => it.codePointAt(0)).join(" ");
  document.body.replaceChildren(out);
};
addEventListener("load", leave);
