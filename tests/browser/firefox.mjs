// Pages in Debian's Firefox, over WebDriver BiDi: they open without a fault, a person is found in every figure,
// and the viewer of slices works.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { all_marked, done, made, marks, nifti, packages, pages, promise, said, same_z, url } from './lib.mjs';

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
    if (name !== 'stored-nothing.html') assert.ok(await page.evaluate(() => [...document.querySelectorAll('figure svg')].some((s) => s.getBoundingClientRect().width > 0)));
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.deepEqual(faults, []);
    await page.close();
  });
await promise('who is looked for is marked in every figure', async () => {
  const { page, faults } = await open('table.html');
  const { i, id } = await page.evaluate(() => {
    const i = Number(document.querySelector('.sortable tbody tr:nth-child(3)').dataset.p);
    return { i, id: JSON.parse(document.getElementById('ids').textContent)[i] };
  });
  const before = await page.evaluate(marks, i);
  await page.type('#find', id);
  all_marked(before, await page.evaluate(marks, i));
  assert.deepEqual(faults, []);
  await page.close();
});
await promise('the viewer says the z of the file, wherever keys take it', async () => {
  const { page, faults } = await open('volume.html');
  const image = nifti(join(pages, 'volume_scored', 'z.nii.gz'));
  await page.evaluate(() => document.querySelector('.viewer').scrollIntoView());
  if (await page.$('.viewer-open')) await page.click('.viewer-open');
  await page.waitForFunction(() => / mm: /.test(document.querySelector('.viewer-where').textContent), { timeout: 60000 });
  const person = await page.evaluate(() => Number(document.querySelector('.viewer').closest('[data-p]').dataset.p));
  const where = async () => {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    return said(await page.evaluate(() => document.querySelector('.viewer-where').textContent));
  };
  const peak = await where();
  same_z(image, person, peak);
  await page.focus('.viewer canvas[data-axis="2"]');
  await page.keyboard.press('ArrowLeft');
  const left = await where();
  assert.ok(left.mm[0] < peak.mm[0] && left.mm[1] === peak.mm[1] && left.mm[2] === peak.mm[2], `${peak.mm} to ${left.mm}`);
  if (!Number.isNaN(left.z)) same_z(image, person, left);
  assert.deepEqual(faults, []);
  await page.close();
});
await browser.close();
done();
