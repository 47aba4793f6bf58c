import type { Reporter, TestModule } from 'vitest/node';

/**
 * Their models have 72 to 145 MB, and no test fetches them: `npx trunkline models pull sentence-encoder-en`,
 * `sentence-encoder-multilingual` and `whisper-base` do. Where somebody has pulled them, the tests in these files run.
 */
const ofPulledModels = [
  'test/system/hearing/languages.test.ts',
  'test/system/meaning/feelings.test.ts',
  'test/system/meaning/sentence-encoder.test.ts',
  'test/system/meaning/starter-meaning.test.ts',
];

/**
 * Prints a plain last line after a run: `812 passed, 0 failed`. In CI a skipped test counts as a failure: everything
 * else that tests need is installed there, so a skip means that something was not tested.
 */
export const closingLine: Reporter = {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]) {
    const count = { passed: 0, failed: errors.length, skipped: 0, pending: 0 };
    const skipped: string[] = [];
    for (const module of modules) {
      // A file that failed before its first test has no test to count.
      if (module.state() === 'failed' && [...module.children.allTests()].length === 0)
        count.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state]++;
        if (state !== 'skipped') continue;
        if (ofPulledModels.some((file) => module.moduleId.endsWith(`/${file}`)))
          console.log(`not tried, its model is not pulled: ${test.fullName}`);
        else skipped.push(test.fullName);
      }
    }
    if (process.env['CI'] && skipped.length > 0) {
      process.exitCode = 1;
      for (const name of skipped) console.log(`skipped, which CI does not allow: ${name}`);
    }
    const rest = count.skipped > 0 ? `, ${count.skipped} skipped` : '';
    process.once('exit', () => {
      console.log(`${count.passed} passed, ${count.failed} failed${rest}`);
    });
  },
};
