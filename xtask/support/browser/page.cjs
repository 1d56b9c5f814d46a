// Any page of ours that needs nothing but itself, a file or an address: wide and on a phone, light and dark, with and
// without scripts: no violation, no overflow, no outside request.
//
//   node page.cjs FILE|URL [NAME]        pictures are called NAME-WIDTH-SCHEME.png (ASSAY_SHOTS=DIR)
'use strict';
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { test } = require('./harness.cjs');

test(async ({ open, axe, fits, shot, step, assert }) => {
  const [what, name = 'page'] = process.argv.slice(2);
  const url = what.includes('://') ? what : pathToFileURL(path.resolve(what)).href;
  for (const width of [1280, 390]) {
    for (const dark of [false, true]) {
      const page = await open(url, { width, dark });
      await axe(page, `${name} at ${width} px, ${dark ? 'dark' : 'light'}`);
      await fits(page);
      await shot(page, `${name}-${width}-${dark ? 'dark' : 'light'}`);
      const height = await page.evaluate(() => document.documentElement.scrollHeight);
      console.log(`height: ${height} px at ${width} px`);
      await page.context().close();
    }
  }
  await step('it has its heading without scripts', async () => {
    const page = await open(url, { scripts: false });
    assert.equal(await page.locator('h1').count(), 1);
  });
});
