// Figures as pixels, two renderings of one run: JavaScript changes nothing about a figure at rest, and a
// curve that moves by three units is seen to move. No picture is kept.
import assert from 'node:assert/strict';
import { difference, done, launch, made, open, promise, url } from './lib.mjs';

const browser = await launch();

// A figure alone in the corner of the window: where it was on the page may be between two pixels.
async function picture(page, k) {
  const clip = await page.evaluate((k) => {
    const svg = document.querySelectorAll('figure svg')[k], box = svg.viewBox.baseVal;
    if (svg.getBoundingClientRect().width === 0) return null;
    const height = Math.round(700 * box.height / box.width);
    svg.style.cssText = `position:fixed;left:0;top:0;width:700px;height:${height}px;max-width:none;z-index:9999;background:#fff`;
    return { x: 0, y: 0, width: 700, height: Math.min(height, 900) };
  }, k);
  const png = clip && await page.screenshot({ clip, animations: 'disabled' });
  await page.evaluate((k) => { document.querySelectorAll('figure svg')[k].style.cssText = ''; }, k);
  return png;
}

for (const name of made().filter((f) => !f.startsWith('stored-'))) {
  const lively = await open(browser, url(name)), still = await open(browser, url(name), { js: false });
  await promise(`${name}: figures are the same pixels with and without JavaScript`, async () => {
    // cards that JavaScript folds at first: what is in them is not drawn, though it may have a size
    await lively.page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
    await still.page.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
    const n = await lively.page.locator('figure svg').count();
    let compared = 0;
    for (let k = 0; k < n; k++) {
      const a = await picture(lively.page, k); // of the curves one is shown, without JavaScript all are
      if (!a) continue;
      assert.equal(await difference(a, await picture(still.page, k)), 0, `figure ${k}`);
      compared++;
    }
    assert.ok(compared > 2, `${compared} of ${n} figures`);
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
      const before = await picture(lively.page, at);
      assert.equal(await difference(before, await picture(lively.page, at)), 0);
      await lively.page.evaluate(() => document.querySelector('[data-moved]').setAttribute('transform', 'translate(0 3)'));
      assert.ok(await difference(before, await picture(lively.page, at)) > 100);
    });
  await lively.close();
  await still.close();
}
await browser.close();
done();
