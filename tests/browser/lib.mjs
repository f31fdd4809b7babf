// What the tests in browsers share. Each script is one meson test that speaks TAP: a line `ok N - promise`
// for each promise. KN_BROWSER is the folder that tests/browser/run filled.
import { createRequire } from 'node:module';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';

export const folder = process.env.KN_BROWSER;
export const packages = createRequire(join(folder, 'packages.js'));
export const pages = join(folder, 'pages');
export const url = (name) => pathToFileURL(join(pages, name)).href;

// ---- TAP ---------------------------------------------------------------------------------------------

let count = 0, bad = 0;

export async function promise(name, body) {
  count++;
  try {
    await body();
    console.log(`ok ${count} - ${name}`);
  } catch (e) {
    bad++;
    console.log(`not ok ${count} - ${name}`);
    console.log(String(e.stack ?? e).split('\n').map((line) => `# ${line}`).join('\n'));
  }
}

export function done() {
  console.log(`1..${count}`);
  process.exit(bad ? 1 : 0);
}

// ---- Chromium ----------------------------------------------------------------------------------------

export async function launch() {
  const args = process.getuid() === 0 ? ['--no-sandbox'] : [];
  return packages('playwright-core').chromium.launch({ executablePath: '/usr/bin/chromium', args });
}

// A page in a context of its own: `faults` are the console's errors and uncaught exceptions, `requests` what
// it asked for besides itself and its own data.
export async function open(browser, address, { width = 1280, height = 900, scheme = 'light', js = true } = {}) {
  const context = await browser.newContext({
    viewport: { width, height }, colorScheme: scheme, javaScriptEnabled: js, reducedMotion: 'reduce',
    acceptDownloads: true,
  });
  const page = await context.newPage();
  const faults = [], requests = [];
  page.setDefaultTimeout(60000);
  page.on('console', (m) => m.type() === 'error' && faults.push(m.text()));
  page.on('pageerror', (e) => faults.push(String(e)));
  page.on('request', (r) => {
    if (r.url() !== address && !/^(data|blob):/.test(r.url())) requests.push(r.url());
  });
  await page.goto(address, { waitUntil: 'load' });
  return { page, faults, requests, close: () => context.close() };
}

// How far the page is wider than its window, and what sticks out. What scrolls within itself does not.
export const overflow = (page) => page.evaluate(() => {
  const width = document.documentElement.clientWidth, out = [];
  const scrolls = (e) => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
      if (getComputedStyle(p).overflowX !== 'visible') return true;
    return false;
  };
  for (const e of document.body.querySelectorAll('*')) {
    const box = e.getBoundingClientRect();
    if (box.width > 0 && box.right > width + 1 && !e.closest('svg svg, svg *') && !scrolls(e))
      out.push(`${e.tagName.toLowerCase()}.${e.getAttribute('class') ?? ''} to ${Math.round(box.right)} of ${width}`);
  }
  return { px: document.documentElement.scrollWidth - width, out: out.slice(0, 5) };
});

// ---- pixels ------------------------------------------------------------------------------------------

// How many pixels differ; -1: the pictures are not of one size.
export async function difference(a, b) {
  const { PNG } = packages('pngjs');
  const { default: match } = await import(pathToFileURL(packages.resolve('pixelmatch')).href);
  const A = PNG.sync.read(a), B = PNG.sync.read(b);
  if (A.width !== B.width || A.height !== B.height) return -1;
  return match(A.data, B.data, null, A.width, A.height, { threshold: 0.05, includeAA: true });
}

// Different colours of a picture: a blank one has one.
export function colours(png) {
  const { data } = packages('pngjs').PNG.sync.read(png), seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return seen.size;
}

// ---- files -------------------------------------------------------------------------------------------

// A NIfTI-1 of floats: at(i, j, k, t), and mm of a voxel.
export function nifti(path) {
  const bytes = gunzipSync(readFileSync(path)), f = (at) => bytes.readFloatLE(at);
  const dim = Array.from({ length: 8 }, (_, i) => bytes.readInt16LE(40 + 2 * i));
  if (bytes.readInt16LE(70) !== 16) throw Error(`${path}: type ${bytes.readInt16LE(70)}, expected float32`);
  const offset = f(108), slope = f(112) || 1, inter = f(112) ? f(116) : 0;
  const affine = [280, 296, 312].map((row) => [0, 1, 2, 3].map((c) => f(row + 4 * c)));
  return {
    dim: dim.slice(1, 5),
    affine,
    at: (i, j, k, t) => inter + slope * f(offset + 4 * (i + dim[1] * (j + dim[2] * (k + dim[3] * t)))),
  };
}

export const table = (path) => {
  const [head, ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n').map((line) => line.split('\t'));
  return rows.map((row) => Object.fromEntries(row.map((cell, i) => [head[i], cell])));
};

export const made = () => existsSync(pages) ? readdirSync(pages).filter((f) => f.endsWith('.html')).sort() : [];

// ---- the page, by either browser: functions that run in it -------------------------------------------

// Figures with more than a few people in them, how each of a person's marks looks, and whether it can be seen.
export const marks = (person) => [...document.querySelectorAll('figure svg')]
  .filter((svg) => new Set([...svg.querySelectorAll('[data-p]')].map((e) => e.dataset.p)).size > 5)
  .map((svg) => {
    const e = svg.querySelector(`[data-p="${person}"]`), style = e && getComputedStyle(e);
    return {
      figure: svg.querySelector('title').textContent,
      seen: svg.getBoundingClientRect().width > 0,
      look: style && [style.fill, style.stroke, style.strokeWidth, style.r, style.d, style.opacity, style.transform].join(),
    };
  });

// The person marked in every figure, and in no other way than before anybody was looked for.
export function all_marked(before, after) {
  if (before.length < 2) throw Error(`people are in ${before.length} figures`);
  before.forEach((b, i) => {
    if (!after[i].look) throw Error(`${b.figure}: he is not in it`);
    if (after[i].look === b.look) throw Error(`${b.figure}: he is not highlighted: ${b.look}`);
  });
}

// What the viewer of slices says: {mm, z}; z NaN where there is no response.
export function said(text) {
  const plain = text.replaceAll('\u2212', '-');
  const found = /^(-?\d+), (-?\d+), (-?\d+) mm: (?:z (-?[\d.]+)|no response)/.exec(plain);
  if (!found) throw Error(`the viewer says: ${text}`);
  return { mm: found.slice(1, 4).map(Number), z: Number(found[4] ?? NaN) };
}

// The voxel of a NIfTI that is nearest to mm; axes along those of the head.
export function voxel_at({ affine }, mm) {
  return mm.map((x, i) => {
    const along = [0, 1, 2].find((j) => affine[i][j] !== 0);
    return [along, Math.round((x - affine[i][3]) / affine[i][along])];
  }).sort((a, b) => a[0] - b[0]).map((pair) => pair[1]);
}

// z that the viewer says against the file's, which it has in steps of .1 up to 12.7.
export function same_z(image, person, { mm, z }) {
  const file = image.at(...voxel_at(image, mm), person);
  const held = Math.max(-12.7, Math.min(12.7, file));
  if (!(Math.abs(z - held) <= 0.0501)) throw Error(`at ${mm} mm the viewer says ${z}, the file ${file}`);
}

// The viewer of the first card that has one, opened. (playwright)
export async function viewer_of(page) {
  const viewer = page.locator('.viewer').first();
  await viewer.scrollIntoViewIfNeeded({ timeout: 1000 }).catch(() => {});
  if (!await viewer.isVisible()) await page.locator('.viewer-open').first().click();
  await page.waitForFunction(() => / mm: /.test(document.querySelector('.viewer-where').textContent));
  return viewer;
}
