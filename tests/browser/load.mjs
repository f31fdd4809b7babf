// How long pages take to open, and their first viewer: measured, not tested. Pages in turn, three times.
//   tests/browser/run FOLDER load.mjs chromium PAGE.html ...
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './lib.mjs';

const pages = process.argv.slice(2);
const browser = await launch();
const found = new Map(pages.map((name) => [name, []]));

// From the click until the canvas has something on it; NaN: there is no viewer.
function look() {
  const button = document.querySelector('.viewer-open');
  if (!button) return NaN;
  const drawn = (canvas) => canvas.width > 0 && canvas.getContext('2d')
    ?.getImageData(0, 0, canvas.width, canvas.height).data.some((x) => x > 0);
  return new Promise((done) => {
    const began = performance.now();
    button.click();
    const wait = () => {
      const spent = performance.now() - began;
      if ([...document.querySelectorAll('.viewer canvas')].some(drawn) || spent > 20000) done(spent);
      else setTimeout(wait, 5);
    };
    wait();
  });
}

for (let k = 0; k < 3; k++)
  for (const name of pages) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await page.goto(pathToFileURL(resolve(name)).href);
    await page.waitForTimeout(400);
    const [paint, load] = await page.evaluate(() => [
      performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
      performance.getEntriesByType('navigation')[0].loadEventEnd,
    ]);
    found.get(name).push([paint, load, await page.evaluate(look)]);
    await page.close();
  }
console.log(['page', 'first paint, ms', 'load, ms', 'viewer, ms'].join('\t'));
for (const [name, runs] of found)
  console.log([name, ...[0, 1, 2].map((k) => runs.map((r) => (isNaN(r[k]) ? '-' : Math.round(r[k]))).join(' '))].join('\t'));
await browser.close();
