import { hearFrom } from './utterance.js';

/** The page of a signed link works without this script. It lets a click on a time play from there. */
const audio = document.querySelector('audio');
document.querySelector('ol')?.addEventListener(
  'click',
  hearFrom((seconds) => {
    if (audio === null) return;
    audio.currentTime = seconds;
    // A browser may refuse to play without a user's gesture. The position is set all the same.
    audio.play().catch(() => undefined);
  }),
);
