// Figures as pixels, two renderings of one run: JavaScript changes nothing about a figure at rest, and a
// curve that moves by three units is seen to move. No picture is kept.
import assert from 'node:assert/strict';
import { difference, done, launch, made, open, promise, url } from './lib.mjs';

const browser = await launch();

// The figures that are to be seen, by their place among all.
async function pictures(page) {
  const all = page.locator('figure svg'), out = new Map();
  for (let i = 0; i < await all.count(); i++)
    if (await all.nth(i).isVisible()) out.set(i, await all.nth(i).screenshot({ animations: 'disabled' }));
  return out;
}

for (const name of made()) {
  const lively = await open(browser, url(name)), still = await open(browser, url(name), { js: false });
  await promise(`${name}: figures are the same pixels with and without JavaScript`, async () => {
    const a = await pictures(lively.page), b = await pictures(still.page);
    assert.ok(a.size > 0);
    for (const [i, picture] of a) assert.equal(await difference(picture, b.get(i)), 0, `figure ${i}`);
  });
  if (name === 'table.html')
    await promise('a curve that moves by three units is seen to move', async () => {
      const at = await lively.page.evaluate(() => {
        const all = [...document.querySelectorAll('figure svg')];
        const curves = all.map((s) => [...s.querySelectorAll('path')].find((p) => p.getTotalLength() > 100 &&
          s.getBoundingClientRect().width > 0));
        const k = curves.findIndex((p) => p);
        curves[k].setAttribute('data-moved', '');
        return k;
      });
      const figure = lively.page.locator('figure svg').nth(at);
      const before = await figure.screenshot();
      assert.equal(await difference(before, await figure.screenshot()), 0);
      await lively.page.evaluate(() => document.querySelector('[data-moved]').setAttribute('transform', 'translate(0 3)'));
      assert.ok(await difference(before, await figure.screenshot()) > 100);
    });
  await lively.close();
  await still.close();
}
await browser.close();
done();
