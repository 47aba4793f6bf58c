/**
 * A process to be killed. It writes numbered frames of several legs through the journal and live sessions, and prints
 * how far each leg is. Arguments: folder, speech address, legs, milliseconds between frames, frames after which it
 * kills itself.
 */
import { legRig } from './leg-rig.ts';
import { numberedFrame } from '../speech/audio.ts';
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
let said = 0;
setInterval(() => {
  // Each printed number is already on the disk. Nothing new is printed while the disk accepts nothing.
  if (rig.journal.isWritten) said = legs[0]?.pushed ?? 0;
  process.stdout.write(`${said}\n`);
  if ((legs[0]?.pushed ?? 0) >= Number(lastFrame)) process.kill(process.pid, 'SIGKILL');
  for (const leg of legs) leg.leg.push(numberedFrame(leg.pushed++));
}, Number(everyMs));
