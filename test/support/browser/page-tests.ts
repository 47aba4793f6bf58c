import { afterAll, beforeAll, expect } from 'vitest';
import { startBrowser, type Browser } from './browser.ts';

/** One browser for all tests of a file: its start takes longer than most of them. */
export function browserOfFile(): Pick<Browser, 'open'> {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser?.[Symbol.asyncDispose]());
  return {
    open: (...page) => {
      if (browser === undefined) throw new Error('the browser starts before the first test');
      return browser.open(...page);
    },
  };
}

/** Machines are slow at times; what is waited for comes all the same. */
export const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 60_000 });
