import { until } from './until.ts';

/** Something that waits until it is let go. */
export function gate() {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let isReached = false;
  return {
    /** Once; who comes later is not held. */
    hold: (): Promise<undefined> | undefined => {
      if (isReached) return undefined;
      isReached = true;
      return promise;
    },
    reached: () => until(() => isReached),
    open: () => resolve(undefined),
  };
}
