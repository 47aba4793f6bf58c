import { openMedia } from '../../../src/hearing/media/media.ts';
import type { Probe } from '../../../src/speech-service/files/files.ts';

const media = openMedia({ maxSeconds: 8_100 });

/** The questions that the process itself asks about a file, for rooms that are tested alone. */
export const mediaProbe: Probe = (path, signal) => media.probe(path, signal);
