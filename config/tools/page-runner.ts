import { describe, TestRunner } from 'vitest';
import { browserMissing } from '../../test/support/browser/chromium.ts';

/** Without a browser, each page test file becomes one skipped group that is named after the reason. */
export default class PageRunner extends TestRunner {
  override importFile(path: string, source: 'collect' | 'setup'): unknown {
    if (browserMissing === undefined || source === 'setup') return super.importFile(path, source);
    // Hooks that the file declares belong to the group and are skipped with it.
    describe.skip(browserMissing, async () => {
      await super.importFile(path, source);
    });
    return undefined;
  }
}
