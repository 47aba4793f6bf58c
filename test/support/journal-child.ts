/**
 * A process to be killed: writes numbered frames of several legs through journal and live sessions, and
 * says on its standard output how far each leg is. Arguments: folder, speech address, legs, milliseconds
 * between frames, frames after which it kills itself.
 */
import { legRig } from './leg-rig.ts';
import { numberedFrame } from './link-speech.ts';
import type { RigLeg } from './leg-rig.ts';

const [dir = '', url = '', legCount = '1', everyMs = '4', lastFrame = 'Infinity'] =
  process.argv.slice(2);
const rig = await legRig({ url, dir });
const legs: RigLeg[] = [];
for (let index = 0; index < Number(legCount); index++) {
  const legId = `leg_${index}`;
  const recovered = rig.journal.recovered.get(legId);
  const leg = rig.leg({ legId, recording: index % 2 === 0, ...(recovered ? { recovered } : {}) });
  leg.pushed = leg.leg.ledger().received / 160;
  legs.push(leg);
}
setInterval(() => {
  if ((legs[0]?.pushed ?? 0) >= Number(lastFrame)) process.kill(process.pid, 'SIGKILL');
  for (const leg of legs) leg.leg.push(numberedFrame(leg.pushed++));
  // What is said here is said after the turn in which it was journalled.
  setImmediate(() => setImmediate(() => process.stdout.write(`${legs[0]?.pushed ?? 0}\n`)));
}, Number(everyMs));
