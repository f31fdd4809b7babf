// Pictures of a page for people to look at: light and dark, 1280 and 400 px wide, whole, and the first
// screen.   picture.mjs PAGE.html FOLDER
import { mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch, open } from './lib.mjs';

const [page_path, to] = process.argv.slice(2), name = basename(page_path, '.html');
const browser = await launch();
mkdirSync(to, { recursive: true });
for (const scheme of ['light', 'dark'])
  for (const width of [1280, 400]) {
    const { page, faults, close } = await open(browser, pathToFileURL(resolve(page_path)).href, { width, scheme });
    for (const whole of [false, true]) {
      const path = join(to, `${name}-${scheme}-${width}${whole ? '-whole' : ''}.png`);
      await page.screenshot({ path, fullPage: whole, animations: 'disabled' });
      console.log(path);
    }
    for (const fault of faults) console.log(`# ${fault}`);
    await close();
  }
await browser.close();
