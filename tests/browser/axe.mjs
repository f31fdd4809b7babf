// Every page through axe-core: light and dark, wide and narrow, no violation of any rule. Held against a
// page that has some first.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { done, folder, launch, made, open, packages, promise, url } from './lib.mjs';

const axe = readFileSync(packages.resolve('axe-core/axe.min.js'), 'utf8');
const browser = await launch();

async function violations(page) {
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  assert.ok(result.passes.length > 10, 'axe did not look');
  return result.violations.map((v) => `${v.id}: ${v.nodes.length} times: ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join('\n  ')}`);
}

async function looked_at(address) {
  const { page, close } = await open(browser, address);
  await page.evaluate(axe);
  // everything that opens is open: what is closed is not looked at
  await page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
  return { page, close };
}

const bad = join(folder, 'bad_axe.html');
writeFileSync(bad, `<!doctype html><html lang="en"><head><title>bad</title><style>.faint { color: #ccc; background: #fff }</style></head>
<body><main><h1>bad</h1><p class="faint">faint</p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="><input type="search">
<table><tr><th>a</th></tr><tr><td>b</td></tr></table><button>ok</button><ul><li>x</li></ul><a href="#x">there</a><p id="x">y</p></main></body></html>`);
await promise('axe finds a missing alt, a faint text and a field without a name', async () => {
  const { page, close } = await looked_at(pathToFileURL(bad).href);
  const found = (await violations(page)).map((v) => v.split(':')[0]);
  for (const rule of ['image-alt', 'color-contrast', 'label']) assert.ok(found.includes(rule), String(found));
  await close();
});
for (const name of made()) {
  const { page, close } = await looked_at(url(name));
  for (const colorScheme of ['light', 'dark'])
    for (const width of [1280, 400])
      await promise(`${name}: ${colorScheme}, ${width} px: no violation`, async () => {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        assert.deepEqual(await violations(page), []);
      });
  await close();
}
await browser.close();
done();
