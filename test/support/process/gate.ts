import { until } from './until.ts';

/** A gate that holds its callers until it is opened. */
export function gate() {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let isReached = false;
  return {
    /** Holds the first caller only. */
    hold: (): Promise<undefined> | undefined => {
      if (isReached) return undefined;
      isReached = true;
      return promise;
    },
    reached: () => until(() => isReached),
    open: () => resolve(undefined),
  };
}
