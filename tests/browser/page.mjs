// Every page in Chromium: it opens without a fault, asks for nothing, fits its window, is whole without
// JavaScript and on paper, and its policy refuses what is not its own. Each check is held against a page with
// that very fault first.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { done, folder, launch, made, open, overflow, promise, url } from './lib.mjs';

const browser = await launch();
// Somebody who would like to hear from a page.
const heard = [];
const server = createServer((request, answer) => {
  heard.push(request.url);
  answer.writeHead(404).end();
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const elsewhere = `http://127.0.0.1:${server.address().port}`;

const bad = join(folder, 'bad.html');
writeFileSync(bad, `<!doctype html><html lang="en"><title>bad</title><body><div><p>text</p></div>
<p><img src="${elsewhere}/x.png" alt="" width="700" height="5"></p><script>undefined.x</script></body></html>`);

async function with_page(address, options, body) {
  const opened = await open(browser, address, options);
  try {
    await body(opened.page, opened);
  } finally {
    await opened.close();
  }
}

// ---- what would run, or be fetched, if text became mark-up -------------------------------------------

// Each attempt leaves a mark in window.ran; the answer: which did, and how many the policy refused.
const attack = (page) => page.evaluate(async (elsewhere) => {
  window.ran = [];
  window.refused = [];
  document.addEventListener('securitypolicyviolation', (e) => window.refused.push(e.effectiveDirective));
  const add = (tag, how) => document.body.appendChild(Object.assign(document.createElement(tag), how));
  add('script', { textContent: 'window.ran.push("script")' });
  add('div', { innerHTML: '<img src="data:,x" onerror="window.ran.push(\'onerror\')">' });
  add('div', { innerHTML: '<p style="position:fixed" id="styled">x</p>' });
  if (getComputedStyle(document.getElementById('styled')).position === 'fixed') window.ran.push('style');
  add('iframe', { src: 'data:text/html,<p>x' });
  add('img', { src: `${elsewhere}/image` });
  add('script', { src: 'data:text/javascript,window.ran.push("data")' });
  // From a timer: code that a test hands over directly may eval whatever the policy is.
  await new Promise((resolve) => setTimeout(async () => {
    try { eval('window.ran.push("eval")'); } catch { window.refused.push('eval'); }
    try { new Function('window.ran.push("Function")')(); } catch { window.refused.push('Function'); }
    try { await fetch(`${elsewhere}/fetch`); } catch { /* refused here, or there */ }
    resolve();
  }));
  await new Promise((resolve) => setTimeout(resolve, 300));
  return { ran: window.ran, refused: window.refused };
}, elsewhere);

await promise('a page without a policy runs what is put into it', () => with_page(pathToFileURL(bad).href, {}, async (page) => {
  const { ran } = await attack(page);
  for (const what of ['script', 'onerror', 'style', 'data', 'eval', 'Function']) assert.ok(ran.includes(what), `${what}: ${ran}`);
  for (const what of ['/image', '/fetch']) assert.ok(heard.includes(what), `${what}: ${heard}`);
}));
await promise('a page with faults is seen to have them', () => with_page(pathToFileURL(bad).href, { width: 400 }, async (page, { faults, requests }) => {
  assert.ok(faults.some((f) => f.includes('TypeError')), String(faults));
  assert.deepEqual(requests, [`${elsewhere}/x.png`]);
  assert.ok((await overflow(page)).px > 200);
}));

// ---- every page --------------------------------------------------------------------------------------

const drawn = (page) => page.evaluate(() => [...document.querySelectorAll('figure svg, svg.map')]
  .filter((s) => s.getBoundingClientRect().width > 0).length);

await promise('there are pages', () => assert.ok(made().length >= 7, String(made())));
for (const name of made()) {
  const address = url(name);
  for (const width of [1280, 400])
    await promise(`${name}: ${width} px: no fault, no request, no overflow`, () => with_page(address, { width }, async (page, { faults, requests }) => {
      await page.waitForTimeout(300);
      assert.deepEqual(faults, []);
      assert.deepEqual(requests, []);
      const { px, out } = await overflow(page);
      assert.ok(px <= 0 && out.length === 0, `${px} px too wide: ${out}`);
      assert.equal(await page.evaluate(() => window.hit), undefined, 'a name became mark-up');
    }));
  await promise(`${name}: no style and no on... attribute, one style, no link to elsewhere`, () => with_page(address, { js: false }, async (page) => {
    const found = await page.evaluate(() => ({
      attributes: [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes])
        .map((a) => a.name).filter((a) => a === 'style' || a.startsWith('on')),
      styles: document.querySelectorAll('style').length,
      elsewhere: [...document.querySelectorAll('[src], link[href], use[href], image[href]')]
        .map((e) => e.getAttribute('src') ?? e.getAttribute('href')).filter((h) => !/^(#|data:)/.test(h)),
    }));
    assert.deepEqual(found, { attributes: [], styles: 1, elsewhere: [] });
  }));
  await promise(`${name}: the policy refuses what is put into it`, () => with_page(address, {}, async (page) => {
    heard.length = 0;
    const { ran, refused } = await attack(page);
    assert.deepEqual(ran, []);
    assert.deepEqual(heard, []);
    for (const what of ['eval', 'Function', 'connect-src', 'img-src', 'frame-src', 'script-src-elem', 'script-src-attr', 'style-src-attr'])
      assert.ok(refused.includes(what), `${what} is not among ${refused}`);
  }));
  await promise(`${name}: without JavaScript everything is there, and no control that does nothing`, () => with_page(address, {}, async (page) => {
    const read = (p) => p.evaluate(() => ({
      heads: [...document.querySelectorAll('h1, h2, h3')].map((h) => h.innerText),
      rows: document.querySelectorAll('tbody tr').length,
      captions: document.querySelectorAll('figcaption').length,
    }));
    const lively = await read(page), figures = await drawn(page);
    assert.ok(figures > 0 || name === 'stored-nothing.html');
    await with_page(address, { js: false }, async (still) => {
      assert.deepEqual(await read(still), lively);
      assert.ok(await drawn(still) >= figures);
      assert.equal(await still.locator('button:visible, input:visible, select:visible, canvas:visible').count(), 0);
      const hidden = await still.evaluate(() => [...document.querySelectorAll('figure svg, figcaption, tbody tr, h2, h3')]
        .filter((e) => !e.closest('details:not([open])') && e.getBoundingClientRect().height === 0)
        .map((e) => `${e.tagName} ${e.textContent.slice(0, 40)}`));
      assert.deepEqual(hidden, []);
    });
  }));
  await promise(`${name}: on paper it has pages, and its words`, () => with_page(address, {}, async (page) => {
    const file = join(folder, name.replace('.html', '.pdf'));
    await page.pdf({ path: file, format: 'A4' });
    const heads = await page.evaluate(() => [...document.querySelectorAll('h2')].map((h) => h.innerText));
    const captions = await page.evaluate(() => [...document.querySelectorAll('figcaption')]
      .map((c) => [...c.childNodes].filter((e) => e.tagName !== 'BUTTON').map((e) => e.textContent).join('')));
    const flat = (s) => s.replace(/\s+/g, '').toLowerCase();
    const sheets = execFileSync('pdftotext', ['-raw', file, '-'], { encoding: 'utf8', maxBuffer: 1 << 28 }).split('\f');
    assert.ok(sheets.length - 1 > (name === 'stored-nothing.html' ? 0 : 1), `${sheets.length - 1} page`);
    const text = flat(sheets.join(' '));
    for (const head of heads) assert.ok(text.includes(flat(head)), head);
    for (const caption of captions) assert.ok(text.includes(flat(caption).slice(0, 40)), caption);
    await page.emulateMedia({ media: 'print' });
    // what sorts a column is its heading too
    assert.equal(await page.locator('button:visible:not(th button), input:visible, select:visible').count(), 0, 'controls on paper');
  }));
}
await browser.close();
server.close();
done();
