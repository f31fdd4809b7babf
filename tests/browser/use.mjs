// What a reader does with a page: finding somebody, sorting, choosing a curve, saving a figure, looking at a map.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { all_marked, colours, done, launch, marks, nifti, open, pages, promise, said, same_z, table, url, viewer_of } from './lib.mjs';

const browser = await launch();

async function using(name, body, options) {
  const opened = await open(browser, url(name), options);
  try {
    await body(opened.page);
    assert.deepEqual(opened.faults, []);
    assert.deepEqual(opened.requests, []);
  } finally {
    await opened.close();
  }
}

// ---- finding -----------------------------------------------------------------------------------------

const someone = (page) => page.evaluate(() => {
  const row = document.querySelector('.sortable tbody tr:nth-child(3)'), i = Number(row.dataset.p);
  return { i, id: JSON.parse(document.getElementById('ids').textContent)[i] };
});

for (const name of ['table.html', 'volume.html'])
  await promise(`${name}: who is looked for is marked in every figure, and in the table`, () => using(name, async (page) => {
    const { i, id } = await someone(page);
    const before = await page.evaluate(marks, i);
    assert.throws(() => all_marked(before, before), /not highlighted/);
    await page.locator('#find').fill(id);
    all_marked(before, await page.evaluate(marks, i));
    assert.ok((await page.locator('#found').textContent()).includes(id));
    assert.ok(await page.locator(`.sortable tr[data-p="${i}"]`).evaluate((e) => e.classList.contains('hit')));
    await page.locator('#find').press('Escape');
    assert.deepEqual((await page.evaluate(marks, i)).map((m) => m.look), before.map((m) => m.look));
  }));
await promise('a click on somebody in a figure finds him too', () => using('table.html', async (page) => {
  const { i, id } = await someone(page);
  const before = await page.evaluate(marks, i);
  await page.locator(`figure svg [data-p="${i}"]`).first().dispatchEvent('click');
  all_marked(before, await page.evaluate(marks, i));
  assert.ok((await page.locator('#found').textContent()).includes(id));
}));
await promise('nobody of that name: it says so', () => using('table.html', async (page) => {
  await page.locator('#find').fill('nobody has this name');
  assert.equal(await page.locator('#found').textContent(), 'No ID contains this text.');
  assert.equal(await page.locator('.hit').count(), 0);
}));
await promise('names that are mark-up are found as text', () => using('hostile.html', async (page) => {
  await page.locator('#find').fill('<script>window.hit');
  assert.match(await page.locator('#found').textContent(), /<script>window\.hit=1<\/script>/);
  assert.equal(await page.evaluate(() => window.hit), undefined);
}));

// ---- sorting -----------------------------------------------------------------------------------------

const column = (page, k) => page.evaluate((k) => [...document.querySelectorAll('.sortable tbody tr')]
  .map((r) => r.cells[k].textContent.trim()), k);
const as_number = (s) => Number(s.replace(/^[<≤] /, '').replaceAll('\u2212', '-'));
const ordered = (x, down) => x.every((v, i) => i === 0 || Number.isNaN(v) || (down ? v <= x[i - 1] : v >= x[i - 1]));

await promise('a column is sorted by mouse and by keys, and says how', () => using('table.html', async (page) => {
  const heads = page.locator('.sortable thead th');
  const titles = await heads.allTextContents(), k = titles.findIndex((t) => t.trim().startsWith('Extreme z'));
  assert.ok(k > 0, String(titles));
  const button = heads.nth(k).locator('button');
  const rows = await page.locator('.sortable tbody tr').count();
  for (const [press, expected] of [[() => button.click(), 'descending'], [() => button.press('Enter'), 'ascending'],
    [() => button.press('Space'), 'descending']]) {
    await press();
    assert.equal(await heads.nth(k).getAttribute('aria-sort'), expected);
    assert.ok(ordered((await column(page, k)).map(as_number), expected === 'descending'), expected);
  }
  const first = heads.nth(0).locator('button');
  await first.click();
  assert.equal(await heads.nth(0).getAttribute('aria-sort'), 'ascending');
  assert.equal(await page.locator('[aria-sort]').count(), 1);
  const names = await column(page, 0);
  assert.deepEqual(names, [...names].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })));
  assert.equal(names.length, rows);
}));

// ---- figures -----------------------------------------------------------------------------------------

await promise('a curve is chosen by keys, and is the only one', () => using('table.html', async (page) => {
  const shown = () => page.evaluate(() => [...document.querySelectorAll('.curve')]
    .filter((c) => c.getBoundingClientRect().height > 0).map((c) => c.id));
  assert.deepEqual(await shown(), ['curve0']);
  await page.locator('#which-curve').focus();
  await page.keyboard.press('ArrowDown');
  assert.deepEqual(await shown(), ['curve1']);
  await page.locator('#which-curve').selectOption('0');
  assert.deepEqual(await shown(), ['curve0']);
}));
await promise('every figure that can be seen is saved as an SVG that draws', () => using('table.html', async (page) => {
  const saves = page.locator('.save:visible'), n = await saves.count();
  assert.ok(n >= 4, `${n} figures`);
  for (let k = 0; k < n; k++) {
    const [download] = await Promise.all([page.waitForEvent('download'), saves.nth(k).click()]);
    assert.match(download.suggestedFilename(), /^[a-z0-9-]+\.svg$/);
    const text = readFileSync(await download.path(), 'utf8');
    assert.doesNotMatch(text, /var\(--/);
    const other = await browser.newPage();
    await other.setContent(`<img src="data:image/svg+xml;base64,${Buffer.from(text).toString('base64')}" width="600">`);
    assert.ok(await other.locator('img').evaluate((e) => e.decode().then(() => true, () => false)), `${download.suggestedFilename()} is no SVG`);
    assert.ok(colours(await other.locator('img').screenshot()) > 8, `${download.suggestedFilename()} is blank`);
    await other.close();
  }
}));
await promise('a file that is no SVG would not have drawn', async () => {
  const other = await browser.newPage();
  await other.setContent(`<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'><p</svg>">`);
  assert.equal(await other.locator('img').evaluate((e) => e.decode().then(() => true, () => false)), false);
  await other.close();
});
await promise('cards fold and unfold', () => using('table.html', async (page) => {
  const open_cards = () => page.locator('details.card[open]').count();
  const n = await page.locator('details.card').count();
  const fold = page.locator('#fold');
  assert.ok(n > 3);
  assert.equal(await open_cards(), 3);
  for (const [now, words, then] of [[3, 'Open all cards', n], [n, 'Close all cards', 0], [0, 'Open all cards', n]]) {
    assert.equal(await open_cards(), now);
    assert.equal(await fold.textContent(), words);
    await fold.click();
    await page.waitForTimeout(50);
    assert.equal(await open_cards(), then);
  }
  await fold.click();
  await page.locator('.sortable tbody a').last().click();
  await page.waitForTimeout(50);
  assert.equal(await open_cards(), 1);
}));

// ---- the viewer --------------------------------------------------------------------------------------

await promise('the viewer says the z of the file, wherever keys take it', () => using('volume.html', async (page) => {
  const image = nifti(join(pages, 'volume_scored', 'z.nii.gz'));
  const people = table(join(pages, 'volume_scored', 'abnormality.tsv'));
  const viewer = await viewer_of(page);
  const person = Number(await viewer.evaluate((e) => e.closest('[data-p]').dataset.p));
  assert.ok((await viewer.evaluate((e) => e.closest('[data-p]').textContent)).includes(people[person].participant_id));
  const where = async () => {
    await page.evaluate(() => new Promise(requestAnimationFrame));
    return said(await viewer.locator('.viewer-where').textContent());
  };
  const peak = await where();
  same_z(image, person, peak);
  assert.throws(() => same_z(image, person, { ...peak, z: peak.z + 0.2 }), /the file/);
  // the largest of his map
  let most = 0;
  for (let k = 0; k < image.dim[2]; k++)
    for (let j = 0; j < image.dim[1]; j++)
      for (let i = 0; i < image.dim[0]; i++) most = Math.max(most, Math.abs(image.at(i, j, k, person)) || 0);
  assert.ok(Math.abs(Math.abs(peak.z) - Math.min(12.7, most)) <= 0.0501, `${peak.z} of ${most}`);
  const size = [0, 1, 2].map((i) => Math.hypot(...image.affine[i].slice(0, 3)));
  const axial = viewer.locator('canvas[data-axis="2"]'), sagittal = viewer.locator('canvas[data-axis="0"]');
  let at = peak;
  for (const [canvas, key, axis, step] of [[axial, 'ArrowRight', 0, 1], [axial, 'ArrowUp', 1, 1], [axial, 'PageUp', 2, 1],
    [sagittal, 'ArrowLeft', 1, -1], [sagittal, 'ArrowDown', 2, -1], [sagittal, 'PageDown', 0, -1], [axial, 'ArrowLeft', 0, -1]]) {
    await canvas.press(key);
    const now = await where();
    const moved = now.mm.map((x, i) => x - at.mm[i]);
    moved.forEach((x, i) => assert.ok(Math.abs(x - (i === axis ? step * size[i] : 0)) <= 1, `${key}: moved by ${moved}`));
    if (!Number.isNaN(now.z)) same_z(image, person, now);
    at = now;
  }
  await axial.press('Home');
  assert.deepEqual(await where(), peak);
  for (const canvas of await viewer.locator('canvas').all()) assert.ok(colours(await canvas.screenshot()) > 10);
}));
await promise('the viewer follows the mouse, and hides what is below its threshold', () => using('volume.html', async (page) => {
  const viewer = await viewer_of(page), axial = viewer.locator('canvas[data-axis="2"]');
  const before = said(await viewer.locator('.viewer-where').textContent());
  const box = await axial.boundingBox();
  await axial.click({ position: { x: box.width * 0.3, y: box.height * 0.6 } });
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.notDeepEqual(said(await viewer.locator('.viewer-where').textContent()).mm, before.mm);
  await viewer.locator('.viewer-threshold').fill('0');
  await page.evaluate(() => new Promise(requestAnimationFrame));
  const all = colours(await axial.screenshot());
  await viewer.locator('.viewer-threshold').fill('6');
  await page.evaluate(() => new Promise(requestAnimationFrame));
  assert.ok(colours(await axial.screenshot()) < all);
}));
await browser.close();
done();
