// NiiVue in the page: unpacked, admitted by the policy, and it shows the map; where there is no WebGL2 a
// sentence says so.
import assert from 'node:assert/strict';
import { colours, difference, done, launch, made, open, promise, skipped, tinted, url, viewer_of } from './lib.mjs';

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
await promise('NiiVue shows the map on the surface, and it can be turned', async () => {
  const { page, faults, requests, close } = await open(browser, url('niivue_surface.html'));
  const viewer = page.locator('.viewer').first();
  assert.equal(await page.locator('.viewer-open').count(), 0); // there are no slices to look through
  await viewer.locator('.viewer-threshold').fill('0');
  await viewer.locator('.niivue-open').click();
  await viewer.getByText('NiiVue: drag to turn the brain').waitFor({ timeout: 180000 });
  const canvas = viewer.locator('.niivue canvas');
  const look = async () => {
    await page.waitForTimeout(1000);
    const shot = await canvas.screenshot();
    return { shot, ...tinted(shot) };
  };
  const first = await look();
  assert.ok(colours(first.shot) > 200, `${colours(first.shot)} colours`);
  assert.ok(first.blue > 500, `${first.blue} pixels are blue`); // patients have less
  // from another side it is another picture
  await canvas.focus();
  for (let i = 0; i < 18; i++) await page.keyboard.press('ArrowRight');
  const turned = await look();
  assert.ok(await difference(first.shot, turned.shot) > 5000);
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 + 120, box.y + box.height / 2, { steps: 4 });
  await page.mouse.up();
  const dragged = await look();
  assert.ok(await difference(turned.shot, dragged.shot) > 5000);
  // above the threshold less is in colour; without a hemisphere less is there
  await viewer.locator('.viewer-threshold').fill('5.9');
  const high = await look();
  assert.ok(high.blue + high.orange < (dragged.blue + dragged.orange) / 4, `${high.blue} ${high.orange}`);
  assert.equal(await viewer.locator('.viewer-from').innerText(), '5.9');
  for (const mesh of await viewer.locator('.viewer-mesh').all()) await mesh.uncheck();
  const none = await look();
  assert.ok(none.lit < high.lit / 10, `${none.lit} of ${high.lit}`);
  assert.deepEqual(faults, []);
  assert.deepEqual(requests, []);
  await close();
});
await promise('where there is no WebGL2 a sentence says so, and the picture of the surface remains', async () => {
  const { page, faults, close } = await open(browser, url('niivue_surface.html'));
  await page.evaluate(() => {
    const get = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) { return kind === 'webgl2' ? null : get.call(this, kind, ...rest); };
  });
  const viewer = page.locator('.viewer').first();
  await viewer.locator('.niivue-open').click();
  await viewer.getByText('NiiVue cannot run here: it needs WebGL2, which this browser does not have. The picture shows the same map.').waitFor();
  assert.ok(await page.locator('.card svg.map').first().isVisible());
  assert.deepEqual(faults, []);
  await close();
});
await promise('without NiiVue a page of surfaces carries no meshes', async () => {
  const { page, close } = await open(browser, url('surface.html'));
  assert.equal(await page.locator('#mesh0-xyz, #viewer-space, .viewer, #niivue').count(), 0);
  await close();
});
await browser.close();
done();
