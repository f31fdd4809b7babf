// NiiVue in the page: unpacked, admitted by the policy, and it shows the map; where there is no WebGL2 a
// sentence says so.
import assert from 'node:assert/strict';
import { colours, done, launch, made, open, promise, skipped, url, viewer_of } from './lib.mjs';

if (!made().includes('niivue.html')) {
  skipped('NiiVue', 'tools/fetch-niivue could not get it');
  done();
}
const browser = await launch();

await promise('NiiVue shows the map, without a fault and without a request', async () => {
  const { page, faults, requests, close } = await open(browser, url('niivue.html'));
  const viewer = await viewer_of(page);
  const canvas = viewer.locator('.niivue canvas'), button = viewer.locator('.niivue-open');
  await button.click();
  await viewer.getByText('NiiVue: drag to turn').waitFor({ timeout: 180000 });
  await page.waitForTimeout(1000);
  const before = await canvas.screenshot();
  assert.ok(colours(before) > 200, `${colours(before)} colours`);
  // fewer voxels are in colour above a higher threshold
  await viewer.locator('.viewer-threshold').fill('6');
  await page.waitForTimeout(1000);
  assert.ok(colours(await canvas.screenshot()) < colours(before));
  assert.deepEqual(faults, []);
  assert.deepEqual(requests, []);
  await button.click();
  assert.equal(await canvas.count(), 0);
  await close();
});
await promise('where there is no WebGL2 a sentence says so, and the slices remain', async () => {
  const { page, faults, close } = await open(browser, url('niivue.html'));
  await page.evaluate(() => {
    const get = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) { return kind === 'webgl2' ? null : get.call(this, kind, ...rest); };
  });
  const viewer = await viewer_of(page);
  await viewer.locator('.niivue-open').click();
  await viewer.getByText('NiiVue cannot run here: it needs WebGL2').waitFor();
  assert.ok(await viewer.locator('.viewer-plane').first().isVisible());
  assert.deepEqual(faults, []);
  await close();
});
await browser.close();
done();
