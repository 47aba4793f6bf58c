import { systemClock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { RecogniserConfig } from '../config.ts';
import { secondReaderFolder } from '../models/second-reader.ts';
import { backgroundRecogniser, type BackgroundRecogniser } from './background.ts';
import { type RecogniserPool, startRecogniser } from './pool.ts';

type RecognisersOptions = {
  config: RecogniserConfig;
  log: Logger;
  /** The model that reads recordings a second time. Undefined: the usual one, if it is installed. */
  secondReader?: string | undefined;
};

/** The two recognisers of a process. Live sessions never wait for recordings. */
export type Recognisers = AsyncDisposable & {
  live: RecogniserPool;
  /** Its processes start with the first recording and end when there are no more. */
  recordings: BackgroundRecogniser;
};

export async function startRecognisers(options: RecognisersOptions): Promise<Recognisers> {
  const { config, log, secondReader: wanted } = options;
  const live = await startRecogniser({ config, log });
  const recordings = backgroundRecogniser({
    start: async () => {
      const secondReader = await secondReaderFolder(config, wanted, log);
      return startRecogniser({ config, log, inBackground: true, secondReader });
    },
    live,
    clock: systemClock,
    log,
  });
  return {
    live,
    recordings,
    async [Symbol.asyncDispose]() {
      await recordings[Symbol.asyncDispose]();
      await live[Symbol.asyncDispose]();
    },
  };
}
