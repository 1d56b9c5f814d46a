// A page of a run or of an audit: everything opened, on paper, zoomed by pointer and by keys, read by arrow keys, and complete
// without scripts.
//
//   node report.cjs FILE [NAME] [zoom]
'use strict';
const fs = require('node:fs');
const { pathToFileURL } = require('node:url');
const { test } = require(process.env.ASSAY_BROWSER_HARNESS);

const SIZE_MAX = 1_000_000;

test(async ({ open, axe, fits, step, assert }) => {
  const [file, name = 'page', zoom] = process.argv.slice(2);
  const url = pathToFileURL(file).href;

  await step('the page is one file below 1 MB', async () => {
    assert.ok(fs.statSync(file).size < SIZE_MAX, `${fs.statSync(file).size} bytes`);
  });

  await step('everything opened, nothing is wrong and nothing overflows a phone', async () => {
    for (const [width, dark] of [[390, true], [1280, false]]) {
      const page = await open(url, { width, dark });
      await page.evaluate(() => document.querySelectorAll('details').forEach((one) => { one.open = true; }));
      await axe(page, `${name}, opened, at ${width} px`);
      await fits(page);
      await page.context().close();
    }
  });

  await step('headings go down by one level at a time', async () => {
    const page = await open(url);
    const levels = await page.$$eval('h1, h2, h3, h4', (all) => all.map((one) => Number(one.tagName[1])));
    levels.reduce((before, level) => {
      assert.ok(level <= before + 1, `h${level} behind h${before}`);
      return level;
    }, 0);
    await page.context().close();
  });

  await step('every drawing has a name, without scripts, too', async () => {
    const page = await open(url, { scripts: false });
    const unnamed = await page.$$eval('svg[role]', (all) => all.filter((one) => !one.querySelector('title')).length);
    assert.equal(unnamed, 0);
    await page.context().close();
  });

  if (zoom !== 'zoom') return;
  const page = await open(url);
  const chart = page.locator('svg.chart[data-x^="linear"]:visible').first();
  const box = () => chart.locator('.plot').getAttribute('viewBox');
  const whole = await box();

  await step('a drawing is zoomed by dragging, and shown whole again', async () => {
    const place = await chart.boundingBox();
    const at = (share) => [place.x + share * place.width, place.y + place.height / 2];
    await page.mouse.move(...at(0.4));
    await page.mouse.down();
    await page.mouse.move(...at(0.7), { steps: 4 });
    await page.mouse.up();
    assert.notEqual(await box(), whole);
    await axe(page, `${name}, zoomed`);
    await page.getByRole('button', { name: 'Show all' }).first().click();
    assert.equal(await box(), whole);
  });

  await step('the same by keys, and values are read out', async () => {
    await chart.focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    const said = await page.locator('.readout').first().textContent();
    assert.match(said, /\d/);
    await page.keyboard.press('+');
    assert.notEqual(await box(), whole);
    await page.keyboard.press('Escape');
    assert.equal(await box(), whole);
  });
});
