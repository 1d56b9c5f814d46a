// What the browser tests share: Debian's Chromium through playwright-core, axe-core, and three things that no page of
// ours may do: ask another host for something, report an error on the console, overflow a phone.
//
// A script is run by node with NODE_PATH=target/browser/node_modules (xtask/support/browser.rs does that):
//
//   const { test } = require(process.env.ASSAY_BROWSER_HARNESS);
//   test(async ({ open, step, axe, fits }) => {
//     const page = await open('http://127.0.0.1:8477/', { width: 390, dark: true });
//     await step('the title names the page', async () => { .. });
//     await axe(page);
//     await fits(page);
//   });
//
// With ASSAY_SHOTS=DIR, shot(page, name) writes DIR/name.png.
'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { chromium } = require('playwright-core');

const AXE = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
// A step that takes longer has failed, milliseconds.
const STEP_MS_MAX = 30_000;

/** Opens Chromium, runs `body`, and ends the process: with status 1 and the reason where an assertion failed. */
async function test(body) {
  const executablePath = process.env.ASSAY_CHROMIUM || BROWSERS.find((name) => fs.existsSync(name));
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const seen = { outside: [], errors: [] };
  try {
    await body(tools(browser, seen));
    assert.deepEqual(seen.outside, [], 'no page asks another host for anything');
    assert.deepEqual(seen.errors, [], 'no page reports an error');
    console.log('ok: no outside request, no error on the console');
  } catch (error) {
    console.error(`FAILED: ${error.stack || error}`);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

function tools(browser, seen) {
  /**
   * A page at `url`. `width` and `height` in CSS pixels; `dark`: the colour scheme; `scripts: false` switches them off;
   * `context`: that of a page that is open already, which shares its cookies; `expectErrors`: its console is not looked at.
   */
  async function open(url, options = {}) {
    const { width = 1280, height = 900, dark = false, scripts = true, expectErrors = false } = options;
    const context = options.context || await browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      javaScriptEnabled: scripts,
      acceptDownloads: true,
    });
    context.setDefaultTimeout(STEP_MS_MAX);
    const page = await context.newPage();
    const home = new URL(url);
    page.on('request', (request) => {
      const asked = new URL(request.url());
      const own = asked.protocol === home.protocol && asked.host === home.host;
      if (!own && !['data:', 'blob:', 'about:'].includes(asked.protocol)) seen.outside.push(request.url());
    });
    if (!expectErrors) {
      page.on('pageerror', (error) => seen.errors.push(`${page.url()}: ${error.message}`));
      page.on('console', (line) => {
        if (line.type() === 'error') seen.errors.push(`${page.url()}: ${line.text()}`);
      });
    }
    await page.goto(url);
    return page;
  }

  /** A named part of a test; its name is printed when it has passed, and stands before the reason when it has not. */
  async function step(name, run) {
    try {
      await run();
    } catch (error) {
      error.stack = `${name}: ${error.stack}`;
      throw error;
    }
    console.log(`ok: ${name}`);
  }

  /** No violation of WCAG 2.1 A and AA nor of axe's best practices, as the page stands now. */
  async function axe(page, name = new URL(page.url()).pathname) {
    await page.evaluate(AXE);
    const found = await page.evaluate(async () => {
      const result = await globalThis.axe.run(document, { resultTypes: ['violations'] });
      return result.violations.map(({ id, help, nodes }) => {
        const places = nodes.slice(0, 5).map(({ target, failureSummary }) => `${target}: ${failureSummary}`);
        return `${id}: ${help}\n  ${places.join('\n  ')}`;
      });
    });
    assert.equal(found.length, 0, `axe-core: ${found.join('\n')}`);
    console.log(`ok: axe-core finds no violation in ${name}`);
  }

  /** Nothing is wider than the window. */
  async function fits(page) {
    const { wide, room, widest } = await page.evaluate(() => {
      const room = document.documentElement.clientWidth;
      const all = [...document.querySelectorAll('body *')];
      const over = all.filter((one) => one.getBoundingClientRect().right > room + 1);
      const words = over.slice(0, 3).map((one) => one.outerHTML.slice(0, 160));
      return { wide: document.documentElement.scrollWidth, room, widest: words };
    });
    assert.ok(wide <= room, `the page is ${wide} px wide where there are ${room}: ${widest.join('\n')}`);
    console.log(`ok: nothing is wider than ${room} px`);
  }

  /** A picture of the whole page, where ASSAY_SHOTS names a directory. */
  async function shot(page, name, { fullPage = true } = {}) {
    const directory = process.env.ASSAY_SHOTS;
    if (directory) await page.screenshot({ path: path.join(directory, `${name}.png`), fullPage });
  }

  return { open, step, axe, fits, shot, browser, assert };
}

module.exports = { test };
