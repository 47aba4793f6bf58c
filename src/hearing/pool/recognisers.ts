import { systemClock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { RecogniserConfig } from '../config.ts';
import { secondReaderFolder } from '../models/second-reader.ts';
import { backgroundRecogniser, type BackgroundRecogniser } from './background.ts';
import { languagesModel } from '../config.ts';
import { OptionalModel } from '../models/optional-model.ts';
import { ByLanguage } from './by-language.ts';
import { handedBack } from './hand-back.ts';
import { type RecogniserPool, startRecogniser } from './pool.ts';
import type { PoolStream } from './pool-stream.ts';
import type { Recogniser } from '../recogniser.ts';

type RecognisersOptions = {
  config: RecogniserConfig;
  log: Logger;
  /** The model that reads recordings a second time. Undefined: the usual one, if it is installed. */
  secondReader?: string | undefined;
};

/** The two recognisers of a process. Live sessions never wait for recordings. */
export type Recognisers = AsyncDisposable & {
  live: Recogniser;
  /** Its processes start with the first recording and end when there are no more. */
  recordings: Recogniser & Pick<BackgroundRecogniser, 'renew'>;
};

export async function startRecognisers(options: RecognisersOptions): Promise<Recognisers> {
  const { config, log, secondReader: wanted } = options;
  // The other pool is made below, and only streams that it has had can come back to it.
  let handBack: (stream: PoolStream) => boolean = () => false;
  const pool = await startRecogniser({ config, log, handBack: (stream) => handBack(stream) });
  const english = backgroundRecogniser({
    start: async () => {
      const secondReader = await secondReaderFolder(config, wanted, log);
      return startRecogniser({ config, log, inBackground: true, secondReader });
    },
    live: pool,
    clock: systemClock,
    log,
  });
  if (config.model === languagesModel) return together({ live: pool, recordings: english });
  const model = await OptionalModel.find(config, languagesModel);
  const others = otherLanguages({ config, log, model, pool });
  handBack = (stream) =>
    model.isInstalled && handedBack(stream, { others: others.live, pool, log });
  const isInstalled = () => model.isInstalled;
  return together(
    {
      live: new ByLanguage({ first: pool, others: others.live, isInstalled }),
      recordings: Object.assign(
        new ByLanguage({ first: english, others: others.recordings, isInstalled }),
        {
          renew: () => {
            void model.look();
            english.renew();
          },
        },
      ),
    },
    model,
  );
}

function together(
  parts: Omit<Recognisers, typeof Symbol.asyncDispose>,
  model?: OptionalModel,
): Recognisers {
  return {
    ...parts,
    async [Symbol.asyncDispose]() {
      await model?.[Symbol.asyncDispose]();
      await parts.recordings[Symbol.asyncDispose]();
      await parts.live[Symbol.asyncDispose]();
    },
  };
}

/** A leg of these processes is admitted before one has measured its cost. */
const assumedCapacity = 8;

/**
 * The processes that read other languages. They start with the first stream that needs them and end when none has for a
 * minute: each holds some hundred megabytes. A leg whose language turns out to be one of the first model goes over to it.
 */
function otherLanguages({
  config,
  log,
  model,
  pool,
}: {
  config: RecogniserConfig;
  log: Logger;
  model: OptionalModel;
  pool: RecogniserPool;
}): { live: BackgroundRecogniser<RecogniserPool>; recordings: BackgroundRecogniser } {
  const settings = { ...config, model: model.name, pullModels: false };
  const gate: Pick<Recogniser, 'status' | 'admits' | 'mostProcesses'> = {
    mostProcesses: pool.mostProcesses,
    status: () => ({
      state: 'ready',
      detail: `model ${model.name} starts with the first call that needs it`,
      model: model.name,
      languages: model.languages,
      estimatedTimes: false,
      streams: 0,
      capacity: assumedCapacity,
    }),
    admits: ({ languages }) =>
      languages.length === 0 || languages.some((language) => model.languages.includes(language))
        ? { outcome: 'admitted' }
        : pool.admits({ languages }, 0),
  };
  const about = { live: gate, clock: systemClock, log };
  return {
    live: backgroundRecogniser({
      ...about,
      start: () => {
        const handOver = pool.adopt.bind(pool);
        return startRecogniser({ config: settings, log, isBeside: true, handOver });
      },
    }),
    recordings: backgroundRecogniser({
      ...about,
      start: () => startRecogniser({ config: settings, log, inBackground: true, isBeside: true }),
    }),
  };
}
