// The pages of `assay serve` as people use them.
//
//   node serve.cjs LINK READ_ONLY WITH_TOKEN TOKEN DIRECTORY BUNDLE
//
// three addresses of servers over the same runs, the first as the link with its token, the token of the last, a directory to measure in,
// and an exported run.
'use strict';
const { test } = require(process.env.ASSAY_BROWSER_HARNESS);

const [link, readOnly, guarded, token, directory, bundle] = process.argv.slice(2);
const plain = link.replace(/\?.*/, '');
const TEST = '4k random reads, 1 outstanding';

test(async ({ open, step, axe, fits, shot, assert }) => {
  const text = (page) => page.locator('main').first().innerText();
  // A page of somebody who has opened the link that was printed.
  const enter = async (path, options) => {
    const page = await open(link, options);
    if (path) await page.goto(plain + path);
    return page;
  };

  for (const [name, path] of [
    ['history', ''], ['trend', 'trend'], ['baselines', 'baselines'], ['start', 'start'], ['import', 'import'], ['live-none', 'live'],
  ]) {
    for (const width of [1280, 390]) {
      for (const dark of [false, true]) {
        const page = await enter(path, { width, dark });
        await axe(page, `${name}, ${width} px, ${dark ? 'dark' : 'light'}`);
        await fits(page);
        await shot(page, `${name}-${width}-${dark ? 'dark' : 'light'}`);
        await page.context().close();
      }
    }
  }

  await step('the history is searched, and a run opened and zoomed', async () => {
    const page = await open(plain);
    assert.ok(await page.locator('table.runs tbody tr').count() >= 4);
    await page.getByLabel('Search').fill('no such run');
    await page.getByRole('button', { name: 'Show' }).click();
    assert.match(await text(page), /No run matches/);
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.locator('table.runs tbody tr', { hasText: 'mixed' }).locator('th a').first().click();
    await page.waitForURL('**/runs/*');
    await axe(page, 'a run');
    await shot(page, 'run-1280-light');
    const chart = page.locator('svg.chart[data-x^="linear"]:visible').first();
    const whole = await chart.locator('.plot').getAttribute('viewBox');
    const box = await chart.boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.7, box.y + box.height / 2, { steps: 4 });
    await page.mouse.up();
    assert.notEqual(await chart.locator('.plot').getAttribute('viewBox'), whole, 'the drawing is zoomed');
    await shot(page, 'run-zoomed', { fullPage: false });
    const phone = await open(page.url(), { width: 390, dark: true });
    await axe(phone, 'a run on a phone');
    await fits(phone);
    await shot(phone, 'run-390-dark');
  });

  await step('a tag is set, found, and removed', async () => {
    const page = await enter('');
    await page.locator('table.runs tbody th a').first().click();
    await page.getByLabel('New tag').fill('from a browser');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.waitForURL('**/runs/*');
    await page.locator('.actions a.tag', { hasText: 'from a browser' }).click();
    assert.equal(await page.locator('table.runs tbody tr').count(), 1);
    await page.locator('table.runs tbody th a').first().click();
    await page.getByRole('button', { name: 'Remove tag from a browser' }).click();
    await page.waitForURL('**/runs/*');
    assert.equal(await page.locator('.actions a.tag').count(), 0);
  });

  await step('two ticked runs are compared', async () => {
    const page = await open(plain);
    const boxes = page.locator('table.runs input[name=run]');
    await boxes.nth(0).check();
    assert.match(await page.locator('#ticked').innerText(), /tick another/);
    await boxes.nth(1).check();
    await page.getByRole('button', { name: 'Compare ticked runs' }).click();
    await page.waitForURL('**/compare?*');
    assert.match(await page.locator('h1').innerText(), / \/ /);
    await axe(page, 'a comparison');
  });

  await step('four runs are compared', async () => {
    const page = await open(plain);
    for (const n of [0, 1, 2, 3]) await page.locator('table.runs input[name=run]').nth(n).check();
    await page.getByRole('button', { name: 'Compare ticked runs' }).click();
    await page.waitForURL('**/compare?*');
    for (const width of [1280, 390]) {
      for (const dark of [false, true]) {
        const one = await open(page.url(), { width, dark });
        await axe(one, `four runs, ${width} px`);
        await fits(one);
        await shot(one, `compare-${width}-${dark ? 'dark' : 'light'}`);
        await one.context().close();
      }
    }
  });

  await step('a bundle is downloaded', async () => {
    const page = await open(plain);
    await page.locator('table.runs tbody th a').first().click();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download', exact: true }).click(),
    ]);
    assert.match(file.suggestedFilename(), /^assay-run-[0-9a-z._]+\.tar$/);
  });

  await step('an exported run is imported, and what is none is not', async () => {
    const page = await enter('', { expectErrors: true });
    const before = await page.locator('table.runs tbody tr').count();
    await page.getByRole('link', { name: 'Import a run' }).click();
    const send = async (file) => {
      await page.getByLabel('File').setInputFiles(file);
      await page.getByRole('button', { name: 'Import' }).click();
    };
    await send({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('not a run') });
    await page.getByRole('alert').waitFor();
    await axe(page, 'a refused import');
    await send(bundle);
    await page.waitForURL('**/runs/*');
    await page.goto(plain);
    assert.equal(await page.locator('table.runs tbody tr').count(), before + 1);
  });

  await step('a run is reviewed, started, watched and stopped', async () => {
    const page = await enter('start');
    await page.getByLabel('Directory to measure in').fill(directory);
    await page.getByLabel('Tests').selectOption({ label: TEST });
    await page.getByRole('button', { name: 'Review what it would do' }).click();
    assert.match(await text(page), /will fill|will write|exists/i);
    await axe(page, 'the review');
    await shot(page, 'review-1280-light');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL('**/live');
    await page.locator('.verdict', { hasText: 'Running' }).waitFor();
    await page.locator('dl.now').waitFor();
    await page.locator('#live svg.chart').first().waitFor();
    await axe(page, 'the live page');
    for (const [width, dark] of [[1280, false], [1280, true], [390, false], [390, true]]) {
      const other = await open(plain + 'live', { width, dark });
      await fits(other);
      await shot(other, `live-${width}-${dark ? 'dark' : 'light'}`);
      await other.context().close();
    }
    const still = await open(plain + 'live', { scripts: false });
    assert.match(await still.locator('main').innerText(), /Running/);
    await page.getByRole('button', { name: 'Stop the run' }).click();
    await page.locator('#result').waitFor();
    await page.locator('#result').click();
    await page.waitForURL('**/runs/*');
    assert.match(await page.locator('body').innerText(), /incomplete/i);
  });

  await step('without the token nothing is started or changed', async () => {
    const page = await open(plain);
    assert.ok(await page.locator('table.runs tbody tr').count() >= 4);
    await page.getByRole('link', { name: 'Start a run' }).click();
    await page.waitForURL('**/login');
    await axe(page, 'the token, where looking needs none');
    await page.goto(plain);
    await page.locator('table.runs tbody th a').first().click();
    await page.getByLabel('New tag').fill('of a stranger');
    await page.getByRole('button', { name: 'Add' }).click();
    await page.waitForURL('**/login');
    await page.goto(plain);
    assert.equal(await page.getByText('of a stranger').count(), 0);
  });

  await step('a wrong token is refused, the right one lets in', async () => {
    const page = await open(guarded, { expectErrors: true });
    assert.match(page.url(), /\/login$/);
    await axe(page, 'the token');
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Enter' }).click();
    assert.match(await text(page), /not the token/);
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Enter' }).click();
    await page.locator('table.runs').waitFor();
    assert.ok(!page.url().includes(token), 'the token is not in the address');
    const cookies = await page.context().cookies();
    assert.ok(cookies.every(({ httpOnly, sameSite }) => httpOnly && sameSite === 'Strict'));
    assert.ok(cookies.every(({ value }) => value !== token));
  });

  await step('read only: nothing can be started or changed', async () => {
    const page = await open(readOnly, { expectErrors: true });
    assert.equal(await page.getByRole('link', { name: 'Start a run' }).count(), 0);
    await page.locator('table.runs tbody th a').first().click();
    assert.equal(await page.getByLabel('New tag').count(), 0);
    const statuses = await page.evaluate(async () => {
      const send = async (path) => (await fetch(path, { method: 'POST', body: new URLSearchParams({ a: 'b' }) })).status;
      return Promise.all(['/start', '/start/review', '/tags', '/baselines', '/live/stop'].map(send));
    });
    assert.deepEqual([...new Set(statuses)], [403]);
  });

  await step('without scripts everything that matters works', async () => {
    const page = await open(plain, { scripts: false });
    await page.locator('table.runs input[name=run]').nth(0).check();
    await page.locator('table.runs input[name=run]').nth(1).check();
    await page.getByRole('button', { name: 'Compare ticked runs' }).click();
    await page.waitForURL('**/compare?*');
    assert.equal(await page.locator('h1').count(), 1);
  });
});
