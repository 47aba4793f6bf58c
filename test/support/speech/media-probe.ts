import { openMedia } from '../../../src/hearing/media/media.ts';
import type { Probe } from '../../../src/speech-service/files/files.ts';

const media = openMedia({ maxSeconds: 8_100 });

/** The real probe of a file, for tests of rooms that get it as an argument. */
export const mediaProbe: Probe = (path, signal) => media.probe(path, signal);
