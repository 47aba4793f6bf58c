import { defineConfig } from 'vitest/config';
import { closingLine } from './closing-line.ts';

const root = new URL('../..', import.meta.url).pathname;

/** No test may dial another machine. */
const setupFiles = ['test/support/process/loopback-only.ts'];

// Three projects: pure modules, whole processes and sockets, and a real browser. Their deadlines end what hangs: a test
// that passes comes nowhere near them, on a machine that has much else to do either.
export default defineConfig({
  root,
  test: {
    passWithNoTests: false,
    // Most tests wait for a socket or a deadline. On two cores, four files at once take half the time.
    maxWorkers: 4,
    reporters: ['default', closingLine],
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts'],
      reporter: ['text-summary', 'json-summary'],
      reportsDirectory: 'coverage',
    },
    projects: [
      {
        root,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          setupFiles,
          testTimeout: 120_000,
        },
      },
      {
        root,
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          setupFiles,
          testTimeout: 240_000,
          hookTimeout: 120_000,
        },
      },
      {
        root,
        test: {
          name: 'page',
          include: ['test/page/**/*.test.ts'],
          runner: 'config/tools/page-runner.ts',
          testTimeout: 180_000,
          hookTimeout: 60_000,
          // Each file runs a browser and a whole process. More than two at once would only wait for each other.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
